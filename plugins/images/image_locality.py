"""ImageLocality: prefers nodes that already have a pod's images, by the size of what need not be pulled."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from muster.framework.authoring import PerSignature
from muster.framework.contract import (
    MAX_NODE_SCORE,
    CycleState,
    DependsOn,
    Handle,
    NodeView,
    ScorePlugin,
    Scores,
    SnapshotReader,
)
from muster.framework.model.pod_info import PodInfo

_MEBIBYTE = 1024 * 1024
LEAST = 23 * _MEBIBYTE
"""Bytes on a node that are not worth a point."""
MOST_PER_IMAGE = 1000 * _MEBIBYTE
"""Bytes on a node, for each image of the pod, that are worth the full score."""


class ImageLocality(ScorePlugin):
    """Scores by the bytes of the pod's images on the node, each scaled by the share of nodes that have it.

    The scaling keeps pods from crowding onto the few nodes that have an image.
    """

    name = "ImageLocality"
    score_depends_on = DependsOn.NODE

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._images = PerSignature(_image_names)

    def score_epoch(self, snapshot: SnapshotReader) -> Hashable:
        """How widely images are spread depends on all nodes."""
        return snapshot.images.version, snapshot.node_count

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """0 for `LEAST` bytes or less, 100 for `MOST_PER_IMAGE` bytes an image or more."""
        images = self._images.of(pod)
        table, node_count = nodes.snapshot.images, nodes.snapshot.node_count
        present = np.zeros(len(nodes), np.int64)
        for image in images:
            holders = table.holders(image)
            within = holders if nodes.rows is None else holders & set(nodes.rows.tolist())
            if within:
                present += nodes.mask_of(within) * int(table.size(image) * (len(holders) / node_count))
        most = MOST_PER_IMAGE * len(images)
        counted = np.maximum(np.minimum(present, most), LEAST)
        return MAX_NODE_SCORE * (counted - LEAST) // (most - LEAST)


def _image_names(pod: PodInfo) -> tuple[str, ...]:
    return tuple(normalized_image_name(image) for image in pod.signature.images)


def normalized_image_name(name: str) -> str:
    """The name with tag `latest` where it has neither tag nor digest, as nodes report images."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
