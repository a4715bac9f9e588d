"""A cluster for scenarios of gangs that are written once and run twice: in virtual time, and on a real API server.

A story gets a `Backend`: it changes nodes, pods and PodGroups, waits until a condition holds, and reads what a person
can read. It cannot reach into the engine. Stories run on both backends where the API server takes part in them: its
defaults, its watches, its Events. All others run in virtual time alone, with `tests.coscheduling.world.World`, which
proves the same in a hundredth of the time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tests.builders import PodDict
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.announced import word
from tests.coscheduling.conftest import AddNodes
from tests.coscheduling.real.gangs import GangCluster
from tests.coscheduling.world import World
from tests.e2e.eventually import eventually

T = TypeVar("T")

_WITHIN_SECONDS = 90.0
"""Counts of members are reported every half minute."""


class Backend(ABC):
    """One namespace of a cluster with Muster on it.

    Attributes:
        namespace: the name of the namespace.
    """

    namespace: str

    @abstractmethod
    def add_nodes(self, *nodes: Mapping[str, Any]) -> None:
        """Creates nodes."""

    @abstractmethod
    def add_group(self, name: str, min_member: int) -> None:
        """Creates a PodGroup."""

    @abstractmethod
    def change_group(self, name: str, **spec: object) -> None:
        """Changes fields of a PodGroup's spec."""

    @abstractmethod
    def add(self, *pods: PodDict) -> None:
        """Creates pods."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Deletes a pod at once."""

    @abstractmethod
    def set_phase(self, pod: str, phase: str) -> None:
        """Writes a pod's phase, as a kubelet does."""

    @abstractmethod
    def remove_gates(self, name: str) -> None:
        """Removes a pod's scheduling gates."""

    @abstractmethod
    def nodes(self, group: str = "") -> dict[str, str]:
        """The nodes of the bound pods, of one group or of all, by the pods' names."""

    @abstractmethod
    def failures(self, pod: str) -> list[str]:
        """The notes of the pod's FailedScheduling Events, oldest first."""

    @abstractmethod
    def unschedulable(self, pod: str, reason: str = "Unschedulable") -> str:
        """The message of the pod's condition that gives this reason; empty while there is none."""

    @abstractmethod
    def condition(self, group: str) -> tuple[str, str]:
        """Reason and message of the PodGroup's condition; both empty while there is none."""

    @abstractmethod
    def description(self, pod: str) -> str:
        """What a person who asks about the pod is shown, with its Events."""

    @abstractmethod
    async def until(self, probe: Callable[[], T]) -> T:
        """The first answer of `probe` that is true. Raises AssertionError when there is none in time."""

    async def until_started(self, group: str, members: int) -> dict[str, str]:
        """The nodes of a group's members, once so many are bound."""
        return await self.until(lambda: found if len(found := self.nodes(group)) >= members else {})

    async def until_reported(self, pod: str, text: str) -> None:
        """Wait until a FailedScheduling Event of the pod holds this text."""
        await self.until(lambda: any(text in note for note in self.failures(pod)))


class VirtualBackend(Backend):
    """The engine on an API in memory, in virtual time."""

    def __init__(self, world: World) -> None:
        self.namespace = "default"
        self._world = world

    def add_nodes(self, *nodes: Mapping[str, Any]) -> None:
        self._world.add_nodes(*nodes)

    def add_group(self, name: str, min_member: int) -> None:
        self._world.add_group(name, min_member)

    def change_group(self, name: str, **spec: object) -> None:
        self._world.change_group(self._key(name), **spec)

    def add(self, *pods: PodDict) -> None:
        self._world.add(*pods)

    def delete(self, name: str) -> None:
        self._world.delete(self._key(name))

    def set_phase(self, pod: str, phase: str) -> None:
        self._world.set_phase(self._key(pod), phase)

    def remove_gates(self, name: str) -> None:
        self._world.api.change("pods", self._key(name), lambda pod: pod["spec"].update(schedulingGates=[]))

    def nodes(self, group: str = "") -> dict[str, str]:
        bound = self._world.bound(group or None)
        return {key.partition("/")[2]: self._world.node_of(key) for key in bound}

    def failures(self, pod: str) -> list[str]:
        return self._world.notes(self._key(pod))

    def unschedulable(self, pod: str, reason: str = "Unschedulable") -> str:
        given, message, _ = self._world.conditions.get(self._key(pod), ("", "", None))
        return message if given == reason else ""

    def condition(self, group: str) -> tuple[str, str]:
        return word(self._world, group)

    def description(self, pod: str) -> str:
        return "\n".join(f"{reason} {note}" for key, reason, note in self._world.events if key == self._key(pod))

    async def until(self, probe: Callable[[], T]) -> T:
        await self._world.settle()
        await self._world.until(lambda: bool(probe()), _WITHIN_SECONDS)
        return probe()

    def _key(self, name: str) -> str:
        return f"{self.namespace}/{name}"


class RealBackend(GangCluster, Backend):
    """A kube-apiserver, and a process of Muster that answers to `scheduler`."""

    def __init__(self, plane: ControlPlane, api: Api, namespace: str, scheduler: str, add_nodes: AddNodes) -> None:
        super().__init__(plane, api, namespace, scheduler)
        self._add_nodes = add_nodes

    def add_nodes(self, *nodes: Mapping[str, Any]) -> None:
        self._add_nodes(*nodes)

    def remove_gates(self, name: str) -> None:
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}"
        self.api.patch(path, {"spec": {"schedulingGates": None}})

    def failures(self, pod: str) -> list[str]:
        return self.said(pod)

    def unschedulable(self, pod: str, reason: str = "Unschedulable") -> str:
        condition = self.scheduled_condition(pod)
        return str(condition["message"]) if condition.get("reason") == reason else ""

    def description(self, pod: str) -> str:
        return self.kubectl("describe", "pod", pod)

    async def until(self, probe: Callable[[], T]) -> T:
        return eventually(probe, within=_WITHIN_SECONDS)
