"""Teams: pods that name one Team by a label start together, as a group plugin of another package might have it.

It imports what authors may import: the contract, and the books of groups. Whatever Muster shows of groups it shows of
Teams because of what stands here.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec
from pydantic import BaseModel

from muster.framework.contract import (
    Clock,
    CycleState,
    DecisionFollower,
    Disruption,
    GroupDecision,
    GroupKind,
    GroupStatus,
    Handle,
    JoiningPod,
    NoDomain,
    ObjectFollower,
    Pod,
    PodInfo,
    PostBindPlugin,
    PreEnqueuePlugin,
    Status,
    WatchedKind,
    Wire,
)
from muster.framework.groups import (
    GroupBook,
    GroupBookPlugin,
    GroupMeta,
    GroupRecord,
    GroupReporter,
    Notice,
    Report,
)

LABEL = "example.com/team"


class TeamSpec(Wire):
    """How many pods the team needs."""

    size: int = 1


class TeamStatus(Wire):
    """What became of it."""

    phase: str = ""
    message: str = ""


class Team(Wire):
    """A team."""

    metadata: GroupMeta
    spec: TeamSpec = TeamSpec()
    status: TeamStatus = TeamStatus()

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations under Muster's prefix."""
        return self.metadata.annotations


TEAMS = WatchedKind("Team", "/apis/example.com/v1/teams", Team, optional=True)


class TeamKind(GroupKind[Team]):
    """How Teams are shown."""

    plugin = "Teams"
    objects = TEAMS
    short_names = ("tm",)
    tag = "team"

    def named_by(self, pod: JoiningPod) -> str | None:
        """As the pod's label says."""
        name = pod.metadata.labels.get(LABEL)
        return f"{pod.metadata.namespace}/{name}" if name else None

    def needed(self, group: Team) -> int:
        """Its size."""
        return group.spec.size

    def status(self, group: Team, members: Sequence[Pod]) -> GroupStatus:
        """What the plugin wrote, and how many members have nodes."""
        placed = "True" if group.status.phase == "Playing" else "False"
        scheduled = sum(1 for pod in members if pod.spec.node_name)
        running = sum(1 for pod in members if pod.status.phase == "Running")
        status = group.status
        return GroupStatus(status.phase, scheduled, running, placed=placed, reason=status.phase, message=status.message)


TEAM_KIND = TeamKind()


def team_of(pod: PodInfo) -> str | None:
    """`namespace/name` of the pod's team."""
    return TEAM_KIND.named_by(pod.pod)


class TeamReason(StrEnum):
    """Why a team does not play."""

    TOO_FEW_FIT = "TooFewFit"


class TeamBook(GroupBook[Team, GroupRecord[Team]]):
    """All Teams and their members."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(team_of, clock, GroupRecord)

    def quorum(self, group: str) -> int:
        """Its size."""
        found = self.get(group)
        return 0 if found is None else found.spec.size

    def disruption(self, pod: PodInfo) -> Disruption | None:
        """Members may be evicted one by one."""
        return None


class TeamReporter(GroupReporter):
    """Writes whether the team plays."""

    _groups: TeamBook

    def report(self, group: str) -> Report | None:
        """Its status, and an Event when it begins to play."""
        record = self._groups.record(group)
        team, said = record.group, record.announced
        if team is None:
            return None
        plays = len(record.bound) >= team.spec.size
        message = f"{len(record.bound)} of {team.spec.size} are bound" if plays else said.message if said else ""
        after = TeamStatus("Playing" if plays else "Benched", message)
        if after == team.status:
            return None
        reported = [Notice("Normal", "Playing", message)] if plays else []
        return self.report_of(record, msgspec.json.encode({"status": msgspec.to_builtins(after)}), lambda: reported)


class Teams(GroupBookPlugin, PreEnqueuePlugin, PostBindPlugin, ObjectFollower, DecisionFollower):
    """Places a team whole or not at all."""

    name = "Teams"
    kind = TEAM_KIND
    terse = True
    watches = (TEAMS,)

    def __init__(self, args: BaseModel | None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups: TeamBook = handle.shared(self.name, lambda: TeamBook(handle.clock))

    def reporter(self) -> GroupReporter:
        """See `TeamReporter`."""
        return TeamReporter(self._groups, self.handle.clock)

    def group_of(self, pod: PodInfo) -> str | None:
        """A team that is not complete is tried as one."""
        group = team_of(pod)
        return group if group is not None and group in self._groups and self.missing(group) > 0 else None

    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """One sentence for all."""
        return Status.unschedulable(f"team {group}: {placed} of the {missing} that it lacks fit: {cause.message}")

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Keeps a pod out whose team is not there."""
        group = team_of(pod)
        if group is not None and group not in self._groups:
            return Status.unresolvable(f"team {group} not found")
        return None

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """A member is bound."""
        self._groups.members.count_bound(pod)

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Keeps the members."""
        self._groups.follow_pod(old, new)

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Keeps the teams, and tries those that waited for one."""
        team = new or old
        assert isinstance(team, Team)
        key = team.metadata.key
        self._groups.follow_group(key, team if new is not None else None)
        if old is None:
            self.handle.activate({pod.key: pod for pod in self._groups.record(key).unplaced_pods()})

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Notes why a team was refused."""
        if decision.plugin == self.name and decision.status is not None:
            self._groups.announce(decision.group, TeamReason.TOO_FEW_FIT, decision.status.message)
