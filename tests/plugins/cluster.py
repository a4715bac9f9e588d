"""A small cluster in a snapshot, and what a plugin says of it node by node."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar, cast

import msgspec
import numpy as np
from pydantic import BaseModel

from muster.framework.contract import (
    Binder,
    CycleState,
    FilterPlugin,
    Handle,
    Lister,
    ObjectFollower,
    Plugin,
    ScorePlugin,
    Status,
)
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.snapshot import Snapshot
from muster.framework.snapshot.view import NodeView
from muster.operator.explain.picture import Objects
from muster.operator.kube.references import HasMetadata
from tests.builders import NodeDict, PodDict

T = TypeVar("T")
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
    objects: dict[str, Objects]

    def lister(self, resource: str) -> Lister:
        return self.objects[resource]

    def shared(self, key: str, make: Callable[[], T]) -> T:
        return make()


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
        self,
        kind: type[AnyPlugin],
        args: BaseModel | None = None,
        *,
        binder: Binder | None = None,
        objects: Iterable[tuple[str, HasMetadata]] = (),
    ) -> AnyPlugin:
        """A plugin that lives in this cluster, among objects of kinds that it watches, each given with its resource.

        Where no arguments are given, it gets the defaults of its own.
        """
        listers = {watched.resource: Objects() for watched in kind.watches}
        args = kind.args_model() if args is None and kind.args_model is not None else args
        plugin = kind(args, cast("Handle", _Handle(self.snapshot, binder, listers)))
        for resource, obj in objects:
            listers[resource].add(obj)
            cast("ObjectFollower", plugin).on_object(resource, None, obj)
        return plugin

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
