"""HAMi's scheduler extender and its device plugin, played by HAMi's protocol.

The real ones need GPUs, and cannot be built where these tests run. `filter` assigns shares of one node's cards to a
pod, writes them into the pod's annotations and returns this node alone; `bind` locks the node, announces the allocation
and creates the Binding; the device plugin ends the allocation and releases the lock. What is assigned counts as used
until the pod is asked about again, has ended or is deleted, whether or not it was ever bound.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from muster.framework.model.times import parse_time, rfc3339
from tests.hami.names import (
    ALLOCATED,
    ASSIGNED_AT,
    BIND_TIME,
    HANDSHAKE,
    LOCK,
    NODE,
    PHASE,
    TO_ALLOCATE,
    Card,
    Object,
    Share,
    annotations,
    assigned,
    cards_of,
    requests,
    shares_of,
)

LOCK_EXPIRES_SECONDS = 300.0
HANDSHAKE_SECONDS = 60.0
_ENDED = ("Succeeded", "Failed")
_REQUESTING = "Requesting_"


class HamiApi(Protocol):
    """The API server, as far as HAMi uses it."""

    def nodes(self) -> list[Object]:
        """All nodes."""
        ...

    def pods(self) -> list[Object]:
        """All pods."""
        ...

    def annotate_pod(self, pod: Object, values: Mapping[str, str]) -> None:
        """Patch a pod's annotations."""
        ...

    def annotate_node(self, name: str, values: Mapping[str, str | None]) -> None:
        """Patch a node's annotations; None removes one."""
        ...

    def bind(self, pod: Object, node: str) -> str:
        """Create a Binding; the error if it is refused, else ""."""
        ...


class LockedError(Exception):
    """Another pod holds the node's lock."""


class PlayedHami:
    """The extender. `now` are seconds since the epoch.

    Attributes:
        taken: the shares that count as used, by the UID of their pod, with the node.
    """

    def __init__(self, api: HamiApi, now: Callable[[], float]) -> None:
        self.taken: dict[str, tuple[str, Sequence[Share]]] = {}
        self._api = api
        self._now = now

    def filter(self, pod: Object, node_names: Iterable[str]) -> Object:
        """The fields of an ExtenderFilterResult."""
        self._follow()
        self.taken.pop(pod["metadata"]["uid"], None)
        cards = {node["metadata"]["name"]: cards_of(node) for node in self._api.nodes() if self._answers(node)}
        fitting: dict[str, list[list[Share]]] = {}
        failed: dict[str, str] = {}
        for name in node_names:
            found = self._fit(pod, cards.get(name, ()))
            if not cards.get(name):
                failed[name] = "node unregistered"
            elif found is None:
                failed[name] = f"{len(cards[name])}/{len(cards[name])} CardInsufficientMemory"
            else:
                fitting[name] = found
        if not fitting:
            return {"failedNodes": failed}
        node = max(sorted(fitting), key=lambda name: self._usage(cards[name]))
        text = assigned(fitting[node])
        values = {NODE: node, ASSIGNED_AT: f"{self._now():.0f}", TO_ALLOCATE: text, ALLOCATED: text}
        self.taken[pod["metadata"]["uid"]] = node, [share for shares in fitting[node] for share in shares]
        self._api.annotate_pod(pod, values)
        return {"nodeNames": [node]}

    def bind(self, name: str, namespace: str, uid: str, node: str) -> str:
        """The error of an ExtenderBindingResult, "" if the pod is bound. Raises LockedError."""
        self._follow()
        places = {each["metadata"]["uid"]: each for each in self._api.pods()}
        pod = places.get(uid)
        if pod is None:
            return f'pod "{name}" not found'
        chosen, _ = self.taken.get(uid, (node, ()))
        if chosen != node:
            return f"pod {namespace}/{name} was scheduled to node {chosen}, bind request names node {node}"
        self._lock(pod, node)
        self._api.annotate_pod(pod, {PHASE: "allocating", BIND_TIME: f"{self._now():.0f}"})
        error = self._api.bind(pod, node)
        if error:
            self._api.annotate_node(node, {LOCK: None})
        return error

    def register(self) -> None:
        """Ask the device plugins for a sign of life, as HAMi does every 15 seconds."""
        for node in self._api.nodes():
            if cards_of(node) and not annotations(node).get(HANDSHAKE, "").startswith(_REQUESTING):
                asked = rfc3339(self._now()).replace("T", " ").rstrip("Z")
                self._api.annotate_node(node["metadata"]["name"], {HANDSHAKE: f"{_REQUESTING}{asked}"})

    def _answers(self, node: Object) -> bool:
        """Whether the node's device plugin has given a sign of life in time."""
        said = annotations(node).get(HANDSHAKE, "")
        if not said.startswith(_REQUESTING):
            return True
        asked = said.removeprefix(_REQUESTING).replace(" ", "T")
        return self._now() - parse_time(f"{asked}Z") <= HANDSHAKE_SECONDS

    def _follow(self) -> None:
        """What HAMi's informer makes of the pods: assignments count by their annotations until a pod ends."""
        there = {pod["metadata"]["uid"]: pod for pod in self._api.pods()}
        for uid in [uid for uid in self.taken if uid not in there]:
            del self.taken[uid]
        for uid, pod in there.items():
            if pod.get("status", {}).get("phase") in _ENDED:
                self.taken.pop(uid, None)
            elif NODE in annotations(pod):
                self.taken.setdefault(uid, (annotations(pod)[NODE], shares_of(pod)))

    def _fit(self, pod: Object, cards: Sequence[Card]) -> list[list[Share]] | None:
        """The shares of these cards that each container gets; None if they do not suffice."""
        used = [share for _, shares in self.taken.values() for share in shares]
        containers: list[list[Share]] = []
        for count, memory, cores in requests(pod):
            shares: list[Share] = []
            for card in cards:
                share = Share(card.uuid, memory or card.memory, cores)
                if len(shares) < count and _has_room(card, share, used):
                    shares.append(share)
            if len(shares) < count:
                return None
            used += shares
            containers.append(shares)
        return containers

    def _usage(self, cards: Sequence[Card]) -> float:
        """How full the cards are: HAMi prefers the fullest node."""
        used = [share for _, shares in self.taken.values() for share in shares]
        return sum(share.memory / card.memory for card in cards for share in used if share.uuid == card.uuid) / len(
            cards
        )

    def _lock(self, pod: Object, node: str) -> None:
        pods = {f"{each['metadata']['namespace']},{each['metadata']['name']}" for each in self._api.pods()}
        owner = f"{pod['metadata']['namespace']},{pod['metadata']['name']}"
        [found] = [each for each in self._api.nodes() if each["metadata"]["name"] == node]
        since, _, holder = annotations(found).get(LOCK, "").partition(",")
        if since and self._now() - parse_time(since) <= LOCK_EXPIRES_SECONDS and holder in pods:
            raise LockedError(f"node {node} has been locked within 5m0s")
        self._api.annotate_node(node, {LOCK: f"{rfc3339(self._now())},{owner}"})


class PlayedDevicePlugins:
    """The device plugins of all nodes but those that are `silent`."""

    def __init__(self, api: HamiApi) -> None:
        self.silent: set[str] = set()
        self._api = api

    def step(self) -> None:
        """Give signs of life, and end the allocations of pods that have been bound."""
        for node in self._api.nodes():
            name = node["metadata"]["name"]
            if name in self.silent:
                continue
            if annotations(node).get(HANDSHAKE, "").startswith(_REQUESTING):
                self._api.annotate_node(name, {HANDSHAKE: "Reported"})
            for pod in self._api.pods():
                if pod["spec"].get("nodeName") == name and annotations(pod).get(PHASE) == "allocating":
                    self._api.annotate_pod(pod, {PHASE: "success", TO_ALLOCATE: ";"})
                    self._api.annotate_node(name, {LOCK: None})


def _has_room(card: Card, share: Share, used: Iterable[Share]) -> bool:
    there = [each for each in used if each.uuid == card.uuid]
    memory = sum(each.memory for each in there) + share.memory
    cores = sum(each.cores for each in there) + share.cores
    return len(there) < card.splits and memory <= card.memory and cores <= card.cores
