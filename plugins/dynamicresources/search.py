"""The search for an allocation on one node: the first full solution in a fixed order (upstream: `Allocator.Allocate`).

The search goes claim by claim, request by request and device by device, in the order of pools, slices and devices, and
takes a choice back if the rest has no solution with it. Within a request it tries combinations of devices, not
permutations. If an alternative has no solution, it tries the next one.

There may be more combinations than can be tried in one go, so the search passes a checkpoint after each part. A caller
that runs it in a `Worker` may do other work there, as long as nothing that the search reads changes before the next
part.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from muster.framework.contract import checkpoint
from muster.framework.model.devices import ALL, EXACT_COUNT, MAX_RESULTS, DeviceTaint

from .capacity import CapacityError, consumption, has_room
from .cel.errors import CompileError, EvaluationError
from .constraints import constraints_of
from .counters import PoolCounters
from .devices import DeviceId, PoolDevice, node_matches
from .pools import Pool
from .problem import AllocationFailure, AllocationProblem, ResolvedRequest, Selecting
from .use import DeviceUse

_BLOCKING = frozenset({"NoSchedule", "NoExecute"})
_KEY_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() "
    "for optional fields"
)

STEPS_IN_A_PART = 64
"""A step looks at a device or chooses one."""
_OF_AN_EVALUATION = 8
"""Steps of an expression's evaluation that take as long as one."""

Place = tuple[int, int, int]
"""Where a device is: index of pool, of slice in the pool and of device in the slice."""


@dataclass(frozen=True, slots=True)
class ChosenDevice:
    """A device chosen for a request. `consumed` is what a share takes of its capacities; None for a whole device."""

    wanted: ResolvedRequest
    place: Place
    consumed: Mapping[str, int] | None = None


Solution = Sequence[Sequence[ChosenDevice]]
"""The choices of each claim, in the order of results."""


class TooMany(Exception):
    """The claim would get more devices than an allocation can list; fewer may do in another way."""


class InvalidPools(Exception):
    """Nothing was found, and some pools could not be looked at because their slices contradict each other."""


@dataclass(frozen=True, slots=True)
class Site:
    """A node as the search sees it. `pools` are in the order in which devices are tried."""

    name: str
    labels: Mapping[str, str]
    pools: Sequence[Pool]


class Search:
    """A search for devices for the claims of one pod on one node.

    Attributes:
        steps: how many were taken.
        solution: what `run` found; None if there is no solution.
    """

    def __init__(self, problem: AllocationProblem, site: Site, use: DeviceUse) -> None:
        self._problem = problem
        self._site = site
        self._use = use
        self.steps = 0
        self.solution: Solution | None = None
        self._part_ends = STEPS_IN_A_PART
        self._everything: dict[ResolvedRequest, Sequence[Place]] = {}
        self._chosen: list[list[ChosenDevice]] = [[] for _ in problem.claims]
        self._taken: Counter[tuple[DeviceId, int]] = Counter()
        self._holders: Counter[DeviceId] = Counter()
        self._shares: defaultdict[DeviceId, list[Mapping[str, int]]] = defaultdict(list)
        self._counters: dict[int, PoolCounters] = {}

    def run(self) -> None:
        """Work out `solution`. Raises AllocationFailure and InvalidPools."""
        for index, claim in enumerate(self._problem.claims):
            total = 0
            for alternatives in claim.requests:
                fewest = sys.maxsize
                for wanted in alternatives:
                    fewest = min(fewest, self._check(wanted, index))
                if fewest > MAX_RESULTS - total:
                    text = f", request {alternatives[0].request}: adding {fewest} devices exceeds the claim limit"
                    raise AllocationFailure(f"{text} of {MAX_RESULTS}, with {total} already accounted for", index)
                total += fewest
        self._constraints = [constraints_of(each.constraints, at) for at, each in enumerate(self._problem.claims)]
        try:
            found = self._claim(0)
        except TooMany:
            return
        except RecursionError:
            raise AllocationFailure("the pod's claims ask for too many devices at once") from None
        if found:
            self.solution = self._chosen
        elif any(pool.invalid for pool in self._site.pools):
            raise InvalidPools

    def _check(self, wanted: ResolvedRequest, claim: int) -> int:
        """How many devices the request takes. Raises AllocationFailure for one that cannot be met as it stands."""
        at = f", request {wanted.own_name}"
        for selecting in wanted.selectors:
            if not selecting.expression and selecting.of_class is None:
                text = f"{at}, selector #{selecting.index}: CEL expression empty (unsupported selector type?)"
                raise AllocationFailure(text, claim)
        if not wanted.class_name:
            raise AllocationFailure(f"{at}: missing device class name (unsupported request type?)", claim)
        if wanted.of_class is None:
            not_found = f'deviceclass.resource.k8s.io "{wanted.class_name}" not found'
            raise AllocationFailure(f"{at}: could not retrieve device class {wanted.class_name}: {not_found}", claim)
        if wanted.mode == EXACT_COUNT:
            return wanted.count
        if wanted.mode != ALL:
            raise AllocationFailure(f"{at}: unsupported count mode {wanted.mode}", claim)
        self._everything[wanted] = self._all(wanted, claim, at)
        return len(self._everything[wanted])

    def _all(self, wanted: ResolvedRequest, claim: int, at: str) -> list[Place]:
        found: list[Place] = []
        for index, pool in enumerate(self._site.pools):
            if not pool.usable:
                why = "being updated" if pool.incomplete else "invalid"
                raise AllocationFailure(
                    f"{at}: asks for all devices, but resource pool {pool.id} is currently {why}", claim
                )
            for slice_index, each in enumerate(pool.slices):
                for device_index, device in enumerate(each.devices):
                    self._step()
                    place = index, slice_index, device_index
                    selectable = self._selectable(wanted, claim, device, place)
                    if selectable and self._has_room(wanted, claim, device, {}, more={}):
                        found.append(place)
        return found

    def _step(self) -> None:
        """Count a step, and pass a checkpoint if that makes a part full."""
        self.steps += 1
        if self.steps >= self._part_ends:
            self._part_ends = self.steps + STEPS_IN_A_PART
            checkpoint()

    def _claim(self, claim: int) -> bool:
        if claim == len(self._problem.claims):
            return True
        return self._request(claim, 0)

    def _request(self, claim: int, request: int) -> bool:
        self._step()
        requests = self._problem.claims[claim].requests
        if request == len(requests):
            try:
                return self._claim(claim + 1)
            except TooMany:
                return False
        alternatives = requests[request]
        if not alternatives[0].alternative:
            return self._device(claim, request, alternatives[0], 0, start=(0, 0, 0))
        always_too_many = True
        for wanted in alternatives:
            try:
                found = self._device(claim, request, wanted, 0, start=(0, 0, 0))
            except TooMany:
                continue
            if found:
                return True
            always_too_many = False
        if always_too_many:
            raise TooMany
        return False

    def _device(self, claim: int, request: int, wanted: ResolvedRequest, number: int, *, start: Place) -> bool:
        """Choose the device with this number for the request, from `start` on, and everything after it."""
        everything = self._everything.get(wanted)
        if everything is not None and not everything:
            return False
        count = wanted.count if everything is None else len(everything)
        if number >= count:
            return self._request(claim, request + 1)
        if count - number > MAX_RESULTS - len(self._chosen[claim]):
            raise TooMany
        if everything is not None:
            return self._try(claim, request, wanted, number, place=everything[number], must=True)
        for place in self._places(start):
            self._step()
            device = self._at(place)
            if self._in_use(wanted, claim, device.id):
                continue
            if not self._selectable(wanted, claim, device, place):
                continue
            if not self._fits(wanted, claim, device):
                continue
            if self._try(claim, request, wanted, number, place=place, must=False):
                return True
        return False

    def _places(self, start: Place) -> Iterator[Place]:
        for at in range(start[0], len(self._site.pools)):
            pool = self._site.pools[at]
            for slice_at in range(start[1] if at == start[0] else 0, len(pool.slices)):
                first = start[2] if (at, slice_at) == start[:2] else 0
                for device_at in range(first, len(pool.slices[slice_at].devices)):
                    yield at, slice_at, device_at

    def _try(self, claim: int, request: int, wanted: ResolvedRequest, number: int, *, place: Place, must: bool) -> bool:
        self._step()
        device = self._at(place)
        undo = self._take(claim, wanted, place, device, must=must)
        if undo is None:
            return False
        found = False
        try:
            after = place[0], place[1], place[2] + 1
            found = self._device(claim, request, wanted, number + 1, start=after)
        finally:
            if not found:
                undo()
        return found

    def _take(
        self, claim: int, wanted: ResolvedRequest, place: Place, device: PoolDevice, *, must: bool
    ) -> Callable[[], None] | None:
        """Choose the device if it is available. Returns the function that undoes the choice."""
        id_, api = device.id, device.device
        shared = api.allow_multiple_allocations
        if self._in_use(wanted, claim, id_, sharable=shared):
            return None
        undo: list[Callable[[], object]] = []

        def back() -> None:
            for each in reversed(undo):
                each()

        if api.consumes_counters and not (shared and self._is_shared(id_)):
            counters = self._counters_of(place[0])
            if not counters.take(api):
                return None
            undo.append(lambda: counters.give_back(api))
        if any(map(lambda taint: _keeps_off(taint, wanted), api.taints)):
            back()
            return None
        for constraint in self._constraints[claim]:
            if not constraint.add(wanted, device.kind):
                back()
                if not must:
                    return None
                text = f", request {wanted.own_name}: cannot add device {id_} because a claim constraint"
                raise AllocationFailure(f"{text} would not be satisfied", claim)
            undo.append(lambda constraint=constraint: constraint.remove(wanted))  # type: ignore[misc]  # a default keeps it
        if not shared:
            self._taken[id_, claim] += 1
            self._holders[id_] += 1
            undo.append(lambda: self._put_back(id_, claim))
        if not self._fits(wanted, claim, device):
            back()
            return None
        consumed = None
        if shared:
            consumed = consumption(wanted.capacity, api)
            self._shares[id_].append(consumed)
            undo.append(lambda: self._unshare(id_))
        self._chosen[claim].append(ChosenDevice(wanted, place, consumed))
        undo.append(self._chosen[claim].pop)
        return back

    def _put_back(self, id_: DeviceId, claim: int) -> None:
        self._taken[id_, claim] -= 1
        self._holders[id_] -= 1

    def _unshare(self, id_: DeviceId) -> None:
        self._shares[id_].pop()
        if not self._shares[id_]:
            del self._shares[id_]

    def _at(self, place: Place) -> PoolDevice:
        return self._site.pools[place[0]].slices[place[1]].devices[place[2]]

    def _in_use(self, wanted: ResolvedRequest, claim: int, id_: DeviceId, *, sharable: bool = False) -> bool:
        """Whether the device is in use: by any claim, or, for admin access, by the same claim."""
        if wanted.admin:
            return not sharable and self._taken[id_, claim] > 0
        return self._use.taken(id_) or self._holders[id_] > 0

    def _is_shared(self, id_: DeviceId) -> bool:
        return self._use.shared(id_) or id_ in self._shares

    def _counters_of(self, pool: int) -> PoolCounters:
        if pool not in self._counters:
            self._counters[pool] = PoolCounters(self._site.pools[pool], self._use)
        return self._counters[pool]

    def _fits(self, wanted: ResolvedRequest, claim: int, device: PoolDevice) -> bool:
        """Whether enough of the device's capacities is left."""
        allocating: Counter[str] = Counter()
        for share in self._shares.get(device.id, ()):
            allocating.update(share)
        return self._has_room(wanted, claim, device, self._use.consumed(device.id), more=allocating)

    def _has_room(
        self,
        wanted: ResolvedRequest,
        claim: int,
        device: PoolDevice,
        consumed: Mapping[str, int],
        *,
        more: Mapping[str, int],
    ) -> bool:
        try:
            return has_room(wanted.capacity, device.device, consumed, more)
        except CapacityError as error:
            name = device.device.name if wanted.mode == ALL else device.id
            text = f", request {wanted.own_name}: checking capacity for device {name}: {error}"
            raise AllocationFailure(text, claim) from None

    def _selectable(self, wanted: ResolvedRequest, claim: int, device: PoolDevice, place: Place) -> bool:
        for selecting in wanted.selectors:
            if self.steps >= self._part_ends:
                self._step()
            before = device.kind.steps
            verdict = device.kind.verdict(selecting.expression)
            self.steps += (device.kind.steps - before) // _OF_AN_EVALUATION
            if isinstance(verdict, Exception):
                raise _failed(selecting, claim, device.id, verdict)
            if not verdict:
                return False
        spec = self._site.pools[place[0]].slices[place[1]].slice.spec
        if not spec.per_device_node_selection:
            return True
        api, site = device.device, self._site
        return node_matches(site.name, site.labels, api.node_name, api.all_nodes, selector=api.node_selector)


def _keeps_off(taint: DeviceTaint, wanted: ResolvedRequest) -> bool:
    """Whether the taint prevents an allocation for the request."""
    return taint.effect in _BLOCKING and not any(
        toleration.effect in ("", taint.effect)
        and toleration.key in ("", taint.key)
        and (
            toleration.operator == "Exists"
            or (toleration.operator in ("", "Equal") and toleration.value == taint.value)
        )
        for toleration in wanted.tolerations
    )


def _failed(selecting: Selecting, claim: int, id_: DeviceId, error: Exception) -> AllocationFailure:
    of_class = selecting.of_class
    at = "" if of_class is None else f"class {of_class}"
    owner = claim if of_class is None else None
    if isinstance(error, CompileError):
        return AllocationFailure(f"{at}: selector #{selecting.index}: CEL compile error: {error}", owner)
    hint = _KEY_HINT if isinstance(error, EvaluationError) and "no such key:" in str(error) else ""
    text = f"{at}: selector #{selecting.index} on device {id_}: CEL runtime error: {error}{hint}"
    return AllocationFailure(text, owner)
