"""The waitlist: every pod that waits, and the moves between the places where pods wait.

The queue owns it. An entry or gated pod that is here is found by the UID of each of its pods, and a group's entry by
the group. The observer hears of whatever enters a part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from ..contract.events import UNSCHEDULED_POD_ADD, ClusterEvent
from ..contract.observer import EntityType, Observer
from ..model.pod_info import PodInfo
from .backoff import BackoffPolicy, backing_off
from .entry import Entry, Member, Place, Rejection, entry_of
from .gates import GatedPod, Gates
from .hints import Decision, HintTable
from .inflight import Happening, Missed
from .parts import Parts
from .register import Register
from .rules import QueueRules

SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
POP_FROM_BACKOFF = "PopFromBackoffQ"
JOINED_GROUP = "JoinedGroup"


class Waitlist:
    """Active, backing off, unschedulable and gated pods."""

    def __init__(
        self,
        rules: QueueRules,
        backoff: BackoffPolicy,
        *,
        now: Callable[[], float],
        observer: Observer,
        on_entry: Callable[[], None],
    ) -> None:
        """`on_entry` is called when something has entered a part."""
        self._group_of = rules.group_of
        self._backoff = backoff
        self._now = now
        self._observer = observer
        self._on_entry = on_entry
        self._hints = HintTable(rules.registrations)
        self.parts = Parts(rules.sort_key, self._hints)
        self.gates = Gates(rules.pre_enqueue, self._hints, observer)
        self.register = Register()

    @property
    def awaits_events(self) -> bool:
        """Whether anything waits that an event or the time limit may help."""
        return bool(self.parts.unschedulable or self.gates)

    def of_interest(self, event: ClusterEvent) -> bool:
        """Whether the event may help anybody who comes back."""
        return self._hints.of_interest(event)

    def concerns(self, members: Iterable[Member], rejection: Rejection) -> Callable[[ClusterEvent], bool]:
        """Whether an event may help pods that come back with this rejection."""
        plugins = () if rejection.by_error else rejection.unschedulable_plugins | rejection.pending_plugins
        profiles = {member.info.pod.spec.scheduler_name for member in members}
        rejectors = [(profile, plugin) for profile in profiles for plugin in plugins]
        return lambda event: any(self._hints.concerns(rejector, event) for rejector in rejectors)

    # Pods come, change and go.

    def admit(self, member: Member, event: str) -> None:
        """Let a pod that is nowhere join, or gate it."""
        plugin = self.gates.plugin_against(member.info)
        if plugin is None:
            self._join(member, Decision.AT_ONCE, event)
        else:
            self._gate(member, plugin, event)

    def come_back(self, members: Iterable[Member], rejection: Rejection, missed: Sequence[Missed]) -> None:
        """Let pods that failed together, and whose counts and timestamps say so, wait again."""
        for entry in self._regroup(members):
            if not rejection.by_error:
                entry.unschedulable_plugins = rejection.unschedulable_plugins
                entry.pending_plugins = rejection.pending_plugins
            entry.backoff_until = self._backoff.until(entry)
            decision = self._hints.decide_all(entry, missed)
            waiting = self.register.of_group(entry.group)
            if waiting is not None:
                self._merge(waiting, entry, decision)
                continue
            self.register.add(entry)
            self._count_held(entry, len(entry.members))
            if decision is Decision.STAY:
                self._put(entry, Place.UNSCHEDULABLE, SCHEDULE_ATTEMPT_FAILURE)
            else:
                self._enter(entry, decision, SCHEDULE_ATTEMPT_FAILURE)

    def update(self, new: PodInfo, happenings: Sequence[Happening]) -> None:
        """A pod that waits here changed in these ways."""
        at, member = self.register.at[new.uid], self.register.member(new.uid)
        member.info = new
        if isinstance(at, Entry):
            at.changed()
        if self._changes_group(member, happenings[0].event.label):
            return
        if isinstance(at, Entry):
            self.parts.advance(at, (member,))
        for happening in happenings:
            if self._ask_again(at, happening) if isinstance(at, GatedPod) else self._reconsider(at, happening):
                break

    def remove(self, uid: str) -> Member:
        """Take out a pod that waits here."""
        at = self.register.at.pop(uid)
        if isinstance(at, GatedPod):
            self.gates.discard(at)
            return at.member
        self._count_held(at, -1)
        if len(at.members) == 1:
            self.parts.take(at)
            self.register.remove_group(at)
        return at.part(uid)

    def pop(self) -> Entry | None:
        """Take out the entry to be tried next."""
        while (entry := self.parts.pop()) is not None and self._joined_group(entry):
            pass
        if entry is None:
            return None
        if entry.place is Place.BACKOFF:
            self._entered(entry, Place.ACTIVE, POP_FROM_BACKOFF, len(entry.members))
        self.register.remove(entry)
        self._count_held(entry, -len(entry.members))
        entry.unschedulable_plugins = entry.pending_plugins = frozenset()
        return entry

    # Things happen.

    def happened(self, happening: Happening, besides: str) -> None:
        """Move those whom it may help, but not the entry of the pod `besides`."""
        for entry in self.parts.unschedulable.concerned_by(happening.event):
            if besides not in entry.members:
                self._reconsider(entry, happening)
        for pod in self.gates.concerned_by(happening.event):
            self._ask_again(pod, happening)

    def activate(self, uid: str, event: str) -> None:
        """Make a pod ready with the group it belongs to by now, or see whether a gated pod may join."""
        at = self.register.at[uid]
        if isinstance(at, GatedPod):
            self._let_in(at, Decision.AT_ONCE, event)
        else:
            self._changes_group(at.members[uid], event)
        by_now = self.register.at[uid]
        if isinstance(by_now, Entry):
            self._make_ready(by_now, event)

    def backoff_completed(self, now: float, event: str) -> None:
        """Move the entries whose backoff is over to the active ones."""
        for entry in self.parts.backoff.completed(now):
            self._put(entry, Place.ACTIVE, event)

    def time_out(self, now: float, limit: float, event: str) -> None:
        """Try again whatever has waited for an event for more than `limit` seconds."""
        overdue, gated = self.parts.unschedulable.since_before(now - limit), self.gates.since_before(now - limit)
        for entry in overdue:
            entry.flushed = True
            self._release(entry, Decision.AFTER_BACKOFF, event)
        for pod in gated:
            pod.asked = now
            self._let_in(pod, Decision.AFTER_BACKOFF, event)

    # What is there.

    def counts(self) -> dict[str, int]:
        """Pods by the part they wait in, named as in metrics."""
        return {**self.register.count_pods(self.parts.counts()), Place.GATED.queue: len(self.gates)}

    def entity_counts(self) -> dict[tuple[str, EntityType], int]:
        """Entries by the part they wait in and by what they are; a gated pod is one of its own."""
        return {**self.register.count_entities(self.parts.counts()), (Place.GATED.queue, "pod"): len(self.gates)}

    # Entries are made, joined and put.

    def _changes_group(self, member: Member, event: str) -> bool:
        """Let a waiting pod that belongs to another group by now go there; whether it did."""
        uid = member.info.uid
        if self._group_of(member.info) == self.register.at[uid].group:
            return False
        self.admit(self.remove(uid), event)
        return True

    def _regroup(self, members: Iterable[Member]) -> list[Entry]:
        entries: list[Entry] = []
        by_group: dict[str, Entry] = {}
        for member in members:
            group = self._group_of(member.info)
            if group is not None and group in by_group:
                by_group[group].join(member)
                continue
            entry = entry_of(member, group)
            entries.append(entry)
            if group is not None:
                by_group[group] = entry
        return entries

    def _join(self, member: Member, decision: Decision, event: str) -> None:
        """Let a pod that may enter join its group's entry, or become an entry and go where the decision says."""
        group = self._group_of(member.info)
        entry = self.register.of_group(group)
        if entry is None:
            entry = entry_of(member, group)
            entry.backoff_until = self._backoff.until(entry)
            self.register.add(entry)
            self._settle(entry, decision, event)
            return
        self._add_members(entry, (member,), event)
        sibling = Happening(UNSCHEDULED_POD_ADD, None, member.info)
        if self._reconsider(entry, sibling):
            return
        if entry.place is Place.BACKOFF and self._hints.decide(entry, sibling) is Decision.AT_ONCE:
            self._hurry(entry, event)

    def _joined_group(self, entry: Entry) -> bool:
        """Let a pod that was to be tried by itself, but is to be tried with a group by now, join that; whether it did.

        The entry is in no part. Whatever made the pod ready makes its group ready.
        """
        if entry.group is not None:
            return False
        [(uid, member)] = entry.members.items()
        if self._group_of(member.info) is None:
            return False
        del self.register.at[uid]
        self._count_held(entry, -1)
        self._join(entry.part(uid), Decision.AT_ONCE, JOINED_GROUP)
        at = self.register.at[uid]
        if isinstance(at, Entry) and at.place is Place.UNSCHEDULABLE:
            self._release(at, Decision.AFTER_BACKOFF, JOINED_GROUP)
        return True

    def _merge(self, waiting: Entry, failed: Entry, decision: Decision) -> None:
        """Let pods that failed, in an entry of their own, join what their siblings have made of the group since."""
        event = SCHEDULE_ATTEMPT_FAILURE
        if waiting.place is Place.UNSCHEDULABLE:
            self.parts.take(waiting)
            self._count_held(waiting, -len(waiting.members))
            waiting.absorb(failed)
            self.register.add(waiting, failed.members)
            self._count_held(waiting, len(waiting.members))
            if decision is Decision.STAY:
                self._put(waiting, Place.UNSCHEDULABLE, event, newcomers=len(failed.members))
            else:
                self._enter(waiting, decision, event)
            return
        self._keep_out(failed, event)
        self._add_members(waiting, failed.members.values(), event)
        if decision is Decision.AT_ONCE and waiting.place is not Place.ACTIVE:
            self._hurry(waiting, event)

    def _add_members(self, entry: Entry, members: Collection[Member], event: str) -> None:
        if not members:
            return
        for member in members:
            entry.join(member)
            self.register.at[member.info.uid] = entry
        self._count_held(entry, len(members))
        self.parts.advance(entry, members)
        self._entered(entry, entry.place, event, len(members))

    def _reconsider(self, entry: Entry, happening: Happening) -> bool:
        """Move the entry if it is unschedulable and is helped; whether it was."""
        if entry.place is not Place.UNSCHEDULABLE:
            return False
        decision = self._hints.decide(entry, happening)
        if decision is Decision.STAY:
            return False
        self._release(entry, decision, happening.event.label)
        return True

    def _release(self, entry: Entry, decision: Decision, event: str) -> None:
        """Move an unschedulable entry on."""
        self.parts.take(entry)
        self._enter(entry, decision, event)

    def _make_ready(self, entry: Entry, event: str) -> None:
        if entry.place is Place.UNSCHEDULABLE:
            self._release(entry, Decision.AT_ONCE, event)
        elif entry.place is not Place.ACTIVE:
            self._hurry(entry, event)

    def _hurry(self, entry: Entry, event: str) -> None:
        """Make an entry that backs off active."""
        self.parts.take(entry)
        self._put(entry, Place.ACTIVE, event)

    def _enter(self, entry: Entry, decision: Decision, event: str) -> None:
        """Put an entry that is in no part where the decision says, without the pods that PreEnqueue keeps out."""
        self._count_held(entry, -self._keep_out(entry, event))
        if entry.members:
            self._settle(entry, decision, event)
        else:
            self.register.remove_group(entry)

    def _settle(self, entry: Entry, decision: Decision, event: str) -> None:
        if decision is Decision.AT_ONCE or not backing_off(entry, self._now()):
            self._put(entry, Place.ACTIVE, event)
        else:
            self._put(entry, Place.ERROR_BACKOFF if entry.consecutive_errors else Place.BACKOFF, event)

    def _put(self, entry: Entry, place: Place, event: str, newcomers: int | None = None) -> None:
        self.parts.put(entry, place)
        self._entered(entry, place, event, len(entry.members) if newcomers is None else newcomers)

    # Gates close and open.

    def _keep_out(self, entry: Entry, event: str) -> int:
        """Gate those pods of the entry that PreEnqueue does not let in; how many they were."""
        before = len(entry.members)
        for uid, member in [*entry.members.items()]:
            plugin = self.gates.plugin_against(member.info)
            if plugin is not None:
                self._gate(entry.part(uid), plugin, event)
        return before - len(entry.members)

    def _gate(self, member: Member, plugin: str, event: str) -> None:
        pod = GatedPod(member, self._group_of(member.info), plugin)
        self.register.at[member.info.uid] = pod
        self.gates.add(pod)
        self._observer.queue_incoming(Place.UNSCHEDULABLE.queue, event, entity="pod", pods=1)
        self._on_entry()

    def _ask_again(self, pod: GatedPod, happening: Happening) -> bool:
        """Let a gated pod join if it is helped and nothing else keeps it out; whether it joined."""
        event = happening.event
        if not (event.wildcard or self._hints.helps(pod.plugin, (pod.member.info,), happening)):
            return False
        return self._let_in(pod, Decision.AFTER_BACKOFF, event.label)

    def _let_in(self, pod: GatedPod, decision: Decision, event: str) -> bool:
        """Ask PreEnqueue again, and let the pod join if nothing keeps it out any more."""
        plugin = self.gates.plugin_against(pod.member.info, pod.plugin)
        if plugin == pod.plugin:
            return False
        self.gates.discard(pod)
        if plugin is not None:
            pod.plugin = plugin
            self.gates.add(pod)
            return False
        if pod.member.attempts == 0:
            pod.member.first_seen = self._now()
        self._join(pod.member, decision, event)
        return True

    # The observer hears of it.

    def _entered(self, entry: Entry, place: Place, event: str, pods: int) -> None:
        entity: EntityType = "pod" if entry.group is None else "podgroup"
        self._observer.queue_incoming(place.queue, event, entity=entity, pods=pods)
        self._on_entry()

    def _count_held(self, entry: Entry, change: int) -> None:
        if change:
            for plugin in entry.rejectors:
                self._observer.unschedulable_pods(plugin, profile=entry.profile, change=change)
