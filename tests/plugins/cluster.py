"""A small cluster in a snapshot, and what a plugin says of it node by node."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar, cast

import msgspec
import numpy as np
from pydantic import BaseModel

from muster.framework.contract import Binder, CycleState, FilterPlugin, Handle, Plugin, ScorePlugin, Status
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.snapshot import Snapshot
from muster.framework.snapshot.view import NodeView
from tests.builders import NodeDict, PodDict

AnyPlugin = TypeVar("AnyPlugin", bound=Plugin)


def info(pod: PodDict) -> PodInfo:
    """The pod as the engine knows it."""
    return PodInfo(msgspec.convert(pod, Pod))


def typed(node: NodeDict) -> Node:
    """The node as the engine knows it."""
    return msgspec.convert(node, Node)


@dataclass
class _Handle:
    snapshot: Snapshot
    binder: Binder | None


class Cluster:
    """Nodes, and pods on them."""

    def __init__(self, *nodes: NodeDict) -> None:
        self.snapshot = Snapshot()
        self.add(*nodes)

    def add(self, *nodes: NodeDict) -> None:
        """Adds nodes, or changes those that are there."""
        for node in nodes:
            self.snapshot.set_node(typed(node))

    def place(self, node: str, *pods: PodDict) -> None:
        """Puts pods on a node."""
        for pod in pods:
            self.snapshot.add_pod(info(pod), node)

    def plugin(
        self, kind: type[AnyPlugin], args: BaseModel | None = None, *, binder: Binder | None = None
    ) -> AnyPlugin:
        """A plugin that lives in this cluster."""
        return kind(args, cast("Handle", _Handle(self.snapshot, binder)))

    def view(self, names: Iterable[str] | None = None) -> NodeView:
        """The named nodes, or all of them."""
        if names is None:
            return NodeView(self.snapshot, self.snapshot.live_rows())
        return NodeView(self.snapshot, np.array([self.snapshot.live_row_of(name) for name in names], np.intp))

    def rejected(self, plugin: FilterPlugin, pod: PodDict) -> dict[str, Status]:
        """The nodes that the plugin turns the pod away from, and why."""
        nodes = self.view()
        verdicts = plugin.filter(CycleState(), info(pod), nodes)
        codes = verdicts.codes.tolist()
        return {name: verdicts.table[code] for name, code in zip(nodes.names(), codes, strict=True) if code}

    def scores(self, plugin: ScorePlugin, pod: PodDict) -> dict[str, int]:
        """The normalised score of each node."""
        nodes, state, incoming = self.view(), CycleState(), info(pod)
        scores = plugin.normalize_score(state, incoming, plugin.score(state, incoming, nodes))
        return dict(zip(nodes.names(), scores.tolist(), strict=True))
