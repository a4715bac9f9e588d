"""The names on HAMi's wire, as its protocol has them, and the text forms of cards and of shares of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from muster.framework.model.quantity import nanos, value

Object = dict[str, Any]

GPU, MEMORY, CORES = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"
REGISTER = "hami.io/node-nvidia-register"
HANDSHAKE = "hami.io/node-handshake"
LOCK = "hami.io/mutex.lock"
NODE = "hami.io/vgpu-node"
ASSIGNED_AT = "hami.io/vgpu-time"
TO_ALLOCATE = "hami.io/vgpu-devices-to-allocate"
ALLOCATED = "hami.io/vgpu-devices-allocated"
PHASE = "hami.io/bind-phase"
BIND_TIME = "hami.io/bind-time"
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


@dataclass(frozen=True)
class Card:
    """A GPU as its device plugin registers it: into how many shares it may be split, and what it has in all."""

    uuid: str
    splits: int = 10
    memory: int = 16000
    cores: int = 100


@dataclass(frozen=True)
class Share:
    """A part of a card that a container gets: memory in MiB, cores in percent."""

    uuid: str
    memory: int
    cores: int


def registered(cards: Iterable[Card]) -> str:
    """The value of a node's registration."""
    return "".join(
        f"{card.uuid},{card.splits},{card.memory},{card.cores},NVIDIA-T4,0,true,{index},hami-core:"
        for index, card in enumerate(cards)
    )


def cards_of(node: Object) -> list[Card]:
    """The healthy cards of a node."""
    text = annotations(node).get(REGISTER, "")
    fields = [entry.split(",") for entry in text.split(":") if entry]
    return [Card(each[0], int(each[1]), int(each[2]), int(each[3])) for each in fields if each[6] == "true"]


def assigned(containers: Iterable[Sequence[Share]]) -> str:
    """The value of a pod's assignment: the shares of each container."""
    return "".join(
        "".join(f"{share.uuid},NVIDIA,{share.memory},{share.cores}:" for share in shares) + ";" for shares in containers
    )


def shares_of(pod: Object) -> list[Share]:
    """The shares that the pod's annotation assigns to it."""
    entries = [entry for part in annotations(pod).get(ALLOCATED, "").split(";") for entry in part.split(":") if entry]
    return [Share(uuid, int(memory), int(cores)) for uuid, _, memory, cores in (each.split(",") for each in entries)]


def annotations(obj: Object) -> dict[str, str]:
    """The annotations of an object."""
    return obj["metadata"].get("annotations") or {}


def requests(pod: Object) -> Iterator[tuple[int, int, int]]:
    """For each container how many cards it wants, and of each how much memory (0 for all) and how many cores."""
    for container in pod["spec"]["containers"]:
        resources = container.get("resources") or {}
        wanted = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
        count, memory, cores = (value(nanos(wanted.get(name, "0"))) for name in (GPU, MEMORY, CORES))
        yield count, memory, cores
