"""The trial of evictions for a group: plugins remove pods from the snapshot in it, and try the members again.

`GroupPostFilter` creates it for PodGroupPostFilter plugins. Everything that they try is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..contract.decision import TotalCapacity
from ..contract.extender import Victims
from ..contract.group_preemption import Domains, Placed, TrialFailed
from ..contract.status import Status
from ..model.pod_info import PodInfo, PodSignature
from ..runtime.answers import Failed
from ..runtime.attempt_state import AttemptState
from ..runtime.nominator import PodNominator
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows
from ..work import checkpoint
from .algorithm import Algorithm
from .attempt import Attempt
from .group_consultation import GroupConsultation
from .member_rows import MemberRows

Tried = Sequence[Attempt] | Status
"""The attempts that found nodes, in this order, if they are enough for the group; otherwise why they do not fit."""
TryTogether = Callable[[Sequence[Attempt]], Tried]
"""Tries attempts together on the snapshot as it is, and undoes the trial."""
Select = Callable[[Sequence[Attempt]], Iterable[Sequence[Attempt]]]
"""The selections of these attempts that suffice for the group, the preferred one first."""

WhyRejected = Callable[[], Status]
"""Returns why the attempts do not fit as things are."""


def no_selections(attempts: Sequence[Attempt]) -> Iterable[Sequence[Attempt]]:
    """The selections of a group that has to place all members that it lacks."""
    return ()


class PreemptionTrial:
    """Implements `contract.PodGroupTrial` for one group's attempts.

    `consultation` has the answers of extenders, `select` makes the `selections`, `why_rejected` the `rejection`.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        nominator: PodNominator,
        attempts: Sequence[Attempt],
        try_together: TryTogether,
        *,
        consultation: GroupConsultation,
        select: Select = no_selections,
        why_rejected: WhyRejected = Status.unschedulable,
    ) -> None:
        self._snapshot: Snapshot = algorithm.snapshot
        self._nominator = nominator
        self._attempts = attempts
        self._try_together = try_together
        self._consultation = consultation
        self._select = select
        self._why_rejected = why_rejected
        self._member_rows = MemberRows(algorithm)
        self._found: Sequence[Attempt] = ()
        self._domains: Domains = {}
        self._positions_on: dict[str, list[int]] = {}
        self._following: Sequence[Attempt] = ()

    @property
    def assignments(self) -> Sequence[Placed]:
        """The assignments that `schedule` found."""
        return [Placed(attempt.pod, attempt.node_name) for attempt in self._found]

    @property
    def depends_on_cluster(self) -> bool:
        """Whether a Filter plugin reads pods beyond each node for one of the assignments."""
        return any(attempt.framework.filtering.depends_on_cluster(attempt.state) for attempt in self._found)

    def ask_about_nodes(self) -> Status | None:
        """None once extenders have said which nodes members may use if pods are evicted there; otherwise a status."""
        return self._consultation.about_nodes(self._candidates)

    def ask_about_evictions(self, placement: Sequence[Placed], victims: Mapping[str, Victims]) -> Status | None:
        """None once extenders have agreed to the eviction of the victims, by node; otherwise a status."""
        return self._consultation.about_evictions(placement, victims)

    @property
    def domains(self) -> Domains:
        """The domains of the members that `schedule` found nodes for."""
        return {attempt.pod.uid: attempt.state.within for attempt in self._found}

    @contextmanager
    def scenario(self, domains: Domains | None = None) -> Iterator[None]:
        """A context in which pods may be removed and members scheduled; all of it is undone at the end."""
        self._domains = domains or {}
        nominated = {
            attempt.pod.uid: (attempt.pod, node)
            for attempt in self._attempts
            if (node := self._nominator.nominated_node(attempt.pod.uid))
        }
        for uid in nominated:
            self._nominator.clear(uid)
        try:
            with self._snapshot.trial():
                yield
        finally:
            self._assign(())
            self._domains = {}
            for pod, node in nominated.values():
                self._nominator.nominate(pod, node)

    def remove_pod(self, pod: PodInfo, node_name: str) -> None:
        """Remove a pod from its node."""
        self._snapshot.remove_pod(pod, node_name)
        for attempt in self._following:
            _raise_if_failed(attempt.framework.filtering.remove_pod(attempt.state, attempt.pod, pod, node_name))

    def add_pod(self, pod: PodInfo, node_name: str) -> None:
        """Put a removed pod back."""
        self._snapshot.add_pod(pod, node_name)
        for attempt in self._following:
            _raise_if_failed(attempt.framework.filtering.add_pod(attempt.state, attempt.pod, pod, node_name))

    def rejection(self) -> Status:
        """Why the group did not fit when it was decided."""
        return self._why_rejected()

    def selections(self) -> list[Sequence[PodInfo]]:
        """Selections of fewer members with which the group would start; see `PodGroupTrial`."""
        if self._select is no_selections:
            return []
        alike: dict[PodSignature, list[PodInfo]] = {}
        for attempt in self._attempts:
            alike.setdefault(attempt.pod.signature, []).append(attempt.pod)
        helped = {signature for signature, pods in alike.items() if any(map(len, self.rows(pods)))}
        found = self._select([attempt for attempt in self._attempts if attempt.pod.signature in helped])
        return [tuple(attempt.pod for attempt in chosen) for chosen in found if len(chosen) < len(self._attempts)]

    def schedule(self, members: Iterable[PodInfo] | None = None) -> Status | None:
        """Find nodes for as many members as the group lacks; None on success, otherwise the reason."""
        extender_status = self.ask_about_nodes()
        if extender_status is not None:
            return extender_status
        if not self._has_total_capacity():
            return Status.unschedulable()
        chosen = None if members is None else {pod.uid for pod in members}
        copies = []
        for attempt in self._attempts:
            if chosen is not None and attempt.pod.uid not in chosen:
                continue
            domain = self._domains.get(attempt.pod.uid)
            copies.append(replace(attempt, state=_new_state(attempt.state), group=attempt.group, domain=domain))
            checkpoint()
        found = self._try_together(copies)
        if isinstance(found, Status):
            return found
        self._assign(found)
        return None

    def _assign(self, found: Sequence[Attempt]) -> None:
        """Replace the assignments."""
        self._found = found
        self._following = [each for each in found if each.framework.filtering.follows_trials(each.state)]
        self._positions_on = {}
        for position, attempt in enumerate(found):
            self._positions_on.setdefault(attempt.node_name, []).append(position)

    def fits(self, nodes: Collection[str] | None = None, *, returned_to: Collection[str] = ()) -> bool:
        """Whether the assignments, or those on `nodes`, still fit; see `PodGroupTrial`."""
        checked = self._found if nodes is None else self._on(nodes)
        if not self._has_total_capacity() or not self._pass_on_nodes(self._on(returned_to)):
            return False
        if not checked:
            return True
        reserved: list[Attempt] = []
        with self._snapshot.trial():
            try:
                for attempt in checked:
                    fits = self._fits(attempt, reserved)
                    if attempt.state.long_work.left is not None:
                        attempt.framework.filtering.finish_long_work(attempt.state, attempt.pod)
                        fits = self._fits(attempt, reserved)
                    if not fits:
                        return False
                    checkpoint()
                return True
            finally:
                for attempt in reversed(reserved):
                    attempt.framework.reserving.unreserve(attempt.state, attempt.pod, attempt.node_name)

    def _on(self, nodes: Collection[str]) -> Sequence[Attempt]:
        """The attempts that found these nodes, in their order."""
        positions = sorted(position for name in nodes for position in self._positions_on.get(name, ()))
        return [self._found[position] for position in positions]

    def _pass_on_nodes(self, attempts: Sequence[Attempt]) -> bool:
        """Whether they pass the filters that read one node alone, which no member on another node changes."""
        if not attempts:
            return True
        with self._snapshot.trial():
            for attempt in attempts:
                row = self._snapshot.live_row_of(attempt.node_name)
                if row is None or not self._passes_on_node(attempt, row):
                    return False
                self._snapshot.add_pod(attempt.pod, attempt.node_name)
        return True

    def _passes_on_node(self, attempt: Attempt, row: int) -> bool:
        view = NodeView(self._snapshot, np.array([row]))
        try:
            return attempt.framework.filtering.passes_on_node(attempt.state, attempt.pod, view)
        except Failed as failed:
            raise TrialFailed(failed.status) from failed

    def _fits(self, attempt: Attempt, reserved: list[Attempt]) -> bool:
        framework, state, pod, node_name = attempt.framework, attempt.state, attempt.pod, attempt.node_name
        row = self._snapshot.live_row_of(node_name)
        if row is None:
            return False
        try:
            view = NodeView(self._snapshot, np.array([row]))
            [(_, status)] = framework.filtering.run_with_nominated_pods(state, pod, view).statuses()
        except Failed as failed:
            raise TrialFailed(failed.status) from failed
        if _is_rejection(status):
            return False
        self._snapshot.add_pod(pod, node_name)
        reserved.append(attempt)
        return not _is_rejection(framework.reserving.reserve(state, pod, node_name))

    @property
    def rows_in_all(self) -> Rows:
        """The rows on which the group needs free capacity as a whole; none if it does not ask for any."""
        return np.flatnonzero(self._total.nodes if self._total is not None else ())

    @cached_property
    def _total(self) -> TotalCapacity | None:
        found = (attempt.state.get(TotalCapacity.KEY) for attempt in self._attempts)
        return next((each for each in found if isinstance(each, TotalCapacity)), None)

    def _has_total_capacity(self) -> bool:
        """Whether the capacity that the group asks for as a whole is free, before its members have their nodes.

        Capacity that is reserved for others counts as free here: the plugin waits for it only for a while, and evicts
        no pod in its place.
        """
        if self._total is None:
            return True
        columns, rows = self._snapshot.resources, self.rows_in_all
        return all(columns.free_in_all(name, rows) >= amount for name, amount in self._total.amounts.items())

    @property
    def pods_anywhere_matter(self) -> bool:
        """Whether a Filter plugin reads pods beyond each node for one of the members that `rows` was asked about."""
        return self._member_rows.depend_on_cluster

    def rows(self, pods: Sequence[PodInfo]) -> tuple[Rows, Rows]:
        """The rows that could take one of these equal members now, and the rows that might after evictions."""
        found, names = self._in_domains(pods, self._member_rows.of(pods)), self._consultation.allowed(pods[0])
        if names is None:
            return found
        now, perhaps = (
            np.array([row for row in rows.tolist() if self._snapshot.names[row] in names], np.intp) for rows in found
        )
        return now, perhaps

    def _in_domains(self, pods: Sequence[PodInfo], found: tuple[Rows, Rows]) -> tuple[Rows, Rows]:
        """These rows without those outside of the domains that the scenario gives these members."""
        domains = [self._domains[pod.uid] for pod in pods if pod.uid in self._domains]
        inside = [rows for rows in domains if rows is not None]
        if not domains or len(inside) < len(domains):
            return found
        within = np.unique(np.concatenate(inside))
        now, perhaps = found
        return np.intersect1d(now, within), np.intersect1d(perhaps, within)

    def _candidates(self, pods: Sequence[PodInfo]) -> frozenset[str]:
        """The names of all rows of `rows`, without regard to extenders."""
        return frozenset(self._snapshot.names[row] for rows in self._member_rows.of(pods) for row in rows.tolist())


def _is_rejection(status: Status | None) -> bool:
    """Whether a plugin rejects; raises TrialFailed if it failed."""
    if status is not None and not status.rejected:
        raise TrialFailed(status)
    return status is not None


def _raise_if_failed(status: Status | None) -> None:
    if status is not None:
        raise TrialFailed(status)


def _new_state(state: AttemptState) -> AttemptState:
    fresh = AttemptState(sampled=state.sampled)
    fresh.group = state.group
    fresh.consultation = None if state.consultation is None else state.consultation.if_cleared
    return fresh
