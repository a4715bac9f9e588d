"""Nodes: which of them can give a pod its devices, decided for all at once (upstream: `Filter`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from muster.framework.contract import (
    Codes,
    Handle,
    LongWork,
    Mask,
    NodeInfo,
    NodeView,
    PodInfo,
    Scores,
    Status,
    StatusTable,
    Verdicts,
    checkpoint,
)
from muster.framework.contract.arguments import DynamicResourcesArgs
from muster.framework.contract.columns import any_picks
from muster.framework.model.devices import MAX_ALTERNATIVES, AllocationResult, DeviceClaim
from muster.framework.model.node_selector import usable

from .answers import AllocationOutcome, OutcomesByRow
from .claiming import Claiming, Variant
from .extended import Mapping, requests_and_mappings, with_requests
from .readiness import failure, ready, timed_out
from .shared import SharedDRAManager

STALE = Status.unresolvable("cannot schedule extended resource claim")
NO_RESOURCE = Status.unresolvable("cannot fit resource")
NO_DEVICES = Status.unresolvable("cannot allocate all claims")
INVALID = Status.unresolvable("invalid resource pools were encountered")
NOT_HERE = Status.unresolvable("resourceclaim not available on the node")
_STATUSES = (STALE, NO_RESOURCE, NO_DEVICES, INVALID, NOT_HERE)

_NODE_OPERATIONS = "DRAOptionalNodeOperations"
"""The feature that a node must declare for devices that skip operations of the node."""
_LONGEST_SEARCH = 3.0
"""Seconds, at most: other pods have to wait for a part of this if a group searches."""
_STEPS_AT_ONCE = 1024
"""The steps of searches in one call of Filter, and one more part at most."""
_STEPS_BETWEEN = 256
"""Steps between two turns of other pods."""
_MOST_LOST = 8
"""How often devices may change under a search before it is put off until they no longer do."""
_CANNOT_FIT = -1


class NodeJudge:
    """Judges and scores nodes for one profile. `name` is the plugin's."""

    def __init__(self, name: str, devices: SharedDRAManager, handle: Handle, args: DynamicResourcesArgs) -> None:
        self._name = name
        self._devices = devices
        self._handle = handle
        self._search_seconds = min(args.filter_timeout or _LONGEST_SEARCH, _LONGEST_SEARCH)
        self._binding_seconds = args.binding_timeout

    def verdicts(self, pod: PodInfo, claiming: Claiming, nodes: NodeView, work: LongWork) -> Verdicts:
        """A verdict for each node. Remembers in `claiming` which claims a node could not use.

        Where searches take longer than a call may, the rest is left as `work`, and no node passes.
        """
        table = StatusTable(_STATUSES)
        extended = claiming.extended_claim
        if extended is not None and extended.spec.devices.requests:
            return Verdicts(np.full(len(nodes), table.number(STALE), np.int32), table)
        backed = self._backed(claiming, nodes)
        codes = np.zeros(len(nodes), np.int32)
        codes[backed == _CANNOT_FIT] = table.number(NO_RESOURCE)
        concerned = np.full(len(nodes), claiming.has_user_claims)
        rows = nodes.indices()
        asked = [
            (answers, rows[here])
            for combination, here in _parts(backed)
            if (answers := self._answers(pod, claiming, combination)) is not None
        ]
        if not self._are_known(asked, work):
            return Verdicts(np.full(len(nodes), table.number(_timed_out(nodes.names()[0])), np.int32), table)
        for combination, here in _parts(backed):
            concerned[here] |= combination != 0
            answers = self._answers(pod, claiming, combination)
            if answers is None:
                continue
            failing = np.flatnonzero(here & ~answers.solved[rows])
            found = answers.numbers[rows[failing]]
            names = [claim.key for _, claim in self.variant(pod, claiming, combination).claims]
            for number in np.unique(found).tolist():
                _mark(codes, failing[found == number], answers.outcomes[number], names, nodes=nodes, table=table)
        codes[self._away(claiming, nodes, concerned & (codes == 0))] = table.number(NOT_HERE)
        return Verdicts(codes, table)

    def scores(self, pod: PodInfo, claiming: Claiming, nodes: NodeView) -> Scores:
        """int64, shape (nodes,): higher, the earlier the alternatives that the pod's claims would get are listed."""
        totals = np.zeros(len(nodes), np.int64)
        given = sum(
            _score(claim.spec.devices, allocation)
            for at, claim in enumerate(claiming.claims)
            if (allocation := claiming.allocation(at)) is not None
        )
        for combination, here in _parts(self._backed(claiming, nodes)):
            answers = self._answers(pod, claiming, combination)
            if answers is not None:
                totals[here] = given + answers.scores[nodes.indices()[here]]
        return totals

    def variant(self, pod: PodInfo, claiming: Claiming, combination: int) -> Variant:
        """The allocation to make where devices back this combination of the pod's extended resources."""
        known = claiming.variants.get(combination)
        if known is not None:
            return known
        claims = [(at, claiming.claims[at]) for at in claiming.to_allocate]
        mappings: tuple[Mapping, ...] = ()
        if claiming.extended is not None:
            wanted = [name for bit, name in enumerate(claiming.resources) if combination >> bit & 1]
            spec, mappings = requests_and_mappings(pod, wanted, self._devices.classes)
            claims = [(at, with_requests(each, spec) if at == claiming.extended else each) for at, each in claims]
        answers = self._devices.answers_for([each.spec.devices for _, each in claims]) if claims else None
        variant = claiming.variants[combination] = Variant(claims, mappings, answers)
        return variant

    def combination(self, claiming: Claiming, row: int) -> int:
        """The combination of the pod's extended resources that devices back on the node in `row`."""
        nodes = NodeView(self._devices.snapshot, np.array([row]))
        return int(self._backed(claiming, nodes)[0])

    def _backed(self, claiming: Claiming, nodes: NodeView) -> npt.NDArray[np.int64]:
        """int64, shape (nodes,): a bit for each extended resource that devices have to provide there."""
        backed = np.zeros(len(nodes), np.int64)
        if claiming.extended is None:
            return backed
        columns = nodes.snapshot.resources
        for bit, resource in enumerate(claiming.resources):
            index = columns.index(resource)
            if self._devices.classes.of_resource(resource) is None:
                lacking = True if index is None else ~nodes.of(columns.offered[index])
                backed[lacking] = _CANNOT_FIT
            else:
                unoffered = True if index is None else nodes.of(columns.allocatable[index]) == 0
                backed[(backed != _CANNOT_FIT) & unoffered] |= 1 << bit
        return backed

    def _away(self, claiming: Claiming, nodes: NodeView, among: Mask) -> Mask:
        """bool, shape (nodes,): which of the nodes in `among` cannot use a claim whose devices are allocated."""
        away = np.zeros(len(nodes), np.bool_)
        for at in range(len(claiming.claims)):
            allocation = claiming.allocation(at)
            if allocation is None:
                continue
            cannot = among & ~self._usable(allocation, nodes)
            if self._given_up(claiming, at):
                cannot = among
            if cannot.any():
                claiming.unavailable.add(at)
                away |= cannot
        return away

    def _usable(self, allocation: AllocationResult, nodes: NodeView) -> Mask:
        selector = allocation.node_selector
        can = (
            np.ones(len(nodes), np.bool_)
            if selector is None
            else any_picks(usable(selector.node_selector_terms), nodes)
        )
        if any(result.skip_node_operations for result in allocation.devices.results):
            can &= np.array([_declares_node_operations(node) for node in nodes], np.bool_)
        return can

    def _given_up(self, claiming: Claiming, at: int) -> bool:
        """Whether the devices of an allocated claim could not be made ready, or not in time."""
        claim = claiming.claims[at]
        if failure(claim):
            return True
        return not ready(claim) and timed_out(claim, self._handle.clock.wall(), self._binding_seconds)

    def _answers(self, pod: PodInfo, claiming: Claiming, combination: int) -> OutcomesByRow | None:
        """The outcomes for the claims to be allocated on such nodes; None if nothing is to be allocated."""
        if combination or claiming.has_user_claims:
            return self.variant(pod, claiming, combination).answers
        return None

    def _are_known(self, asked: _Asked, work: LongWork) -> bool:
        """Whether all outcomes for these rows are computed. If not, the rest becomes `work`."""
        if work.left is not None:
            return False
        steps = 0
        while steps < _STEPS_AT_ONCE:
            taken = _advance(asked)
            if not taken:
                return True
            steps += taken
        if not work.gave_up:
            work.left = self._name, partial(self._rest, asked)
        return work.gave_up

    def _rest(self, asked: _Asked) -> bool:
        """Compute the missing outcomes, of these rows first, then of all, as preemption looks at others too."""
        now, spent = self._handle.stopwatch, 0.0
        lost = sum(answers.lost for answers, _ in asked)
        while spent < self._search_seconds:
            if sum(answers.lost for answers, _ in asked) > lost + _MOST_LOST:
                return True
            began, all_rows = now(), self._devices.snapshot.live_rows()
            everywhere = [(answers, all_rows) for answers, _ in asked]
            steps = 0
            while steps < _STEPS_BETWEEN:
                taken = _advance(asked) or _advance(everywhere)
                if not taken:
                    return True
                steps += taken
            spent += now() - began
            checkpoint()
        return False


_Asked = Sequence[tuple[OutcomesByRow, npt.NDArray[np.intp]]]


def _advance(asked: _Asked) -> int:
    """Compute a part. Returns the number of steps; 0 if nothing is missing."""
    return next((taken for answers, rows in asked if (taken := answers.advance(rows))), 0)


def _parts(backed: npt.NDArray[np.int64]) -> Iterator[tuple[int, Mask]]:
    """Each combination with its nodes."""
    for combination in np.unique(backed).tolist():
        if combination != _CANNOT_FIT:
            yield combination, backed == combination


def _mark(
    codes: Codes,
    at: npt.NDArray[np.intp],
    outcome: AllocationOutcome,
    claims: Sequence[str],
    *,
    nodes: NodeView,
    table: StatusTable,
) -> None:
    if outcome.unknown:
        names = nodes.names()
        for index in at.tolist():
            codes[index] = table.number(_timed_out(names[index]))
        return
    status = INVALID if outcome.invalid else NO_DEVICES
    if outcome.failure is not None:
        status = Status.failure(outcome.failure.text(claims))
    codes[at] = table.number(status)


def _timed_out(node_name: str) -> Status:
    return Status.failure(f"node {node_name}: timed out trying to allocate devices")


def _declares_node_operations(node: NodeInfo) -> bool:
    return _NODE_OPERATIONS in node.node.status.declared_features


def _score(spec: DeviceClaim, allocation: AllocationResult) -> int:
    """The score of an allocation: the earlier its alternatives are listed, the higher."""
    met = {result.request for result in allocation.devices.results}
    return sum(
        MAX_ALTERNATIVES - at
        for request in spec.requests
        if request.exactly is None
        for at, alternative in enumerate(request.first_available)
        if f"{request.name}/{alternative.name}" in met
    )
