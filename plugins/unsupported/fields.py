"""The fields of a pod that only plugins which Muster does not have can judge. `UnsupportedFields` asks it.

A plugin that lands takes its entry out of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from muster.framework.model.pod import PodSpec


def judged_by(plugins: Iterable[str], spec: PodSpec) -> Iterator[tuple[str, str]]:
    """The fields of `spec` that one of these plugins of kube-scheduler would judge, each with the plugin's name."""
    for plugin in plugins:
        for field in _FIELDS.get(plugin, _none)(spec):
            yield field, plugin


def _none(spec: PodSpec) -> Iterator[str]:
    yield from ()


def _claimed_volumes(spec: PodSpec) -> Iterator[str]:
    for index, volume in enumerate(spec.volumes):
        if volume.persistent_volume_claim is not None:
            yield f"spec.volumes[{index}].persistentVolumeClaim"
        if volume.ephemeral is not None:
            yield f"spec.volumes[{index}].ephemeral"


def _exclusive_volumes(spec: PodSpec) -> Iterator[str]:
    for index, volume in enumerate(spec.volumes):
        if volume.gce_persistent_disk is not None:
            yield f"spec.volumes[{index}].gcePersistentDisk"
        if volume.aws_elastic_block_store is not None:
            yield f"spec.volumes[{index}].awsElasticBlockStore"
        if volume.iscsi is not None:
            yield f"spec.volumes[{index}].iscsi"
        if volume.rbd is not None:
            yield f"spec.volumes[{index}].rbd"


def _limited_volumes(spec: PodSpec) -> Iterator[str]:
    for index, volume in enumerate(spec.volumes):
        if volume.csi is not None:
            yield f"spec.volumes[{index}].csi"
        if volume.azure_disk is not None:
            yield f"spec.volumes[{index}].azureDisk"
        if volume.cinder is not None:
            yield f"spec.volumes[{index}].cinder"


_FIELDS: Mapping[str, Callable[[PodSpec], Iterator[str]]] = {
    "NodeVolumeLimits": _limited_volumes,
    "VolumeBinding": _claimed_volumes,
    "VolumeRestrictions": _exclusive_volumes,
}
