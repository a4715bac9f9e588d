"""The parts that group plugins are made of: books of groups and members, and behaviour that builds on them.

What belongs here: state and behaviour that every group plugin needs, whatever its groups are called in the API: one
record for each group (`GroupRecord`) with its object, its members (`Members`), the latest announcement and what was
reported; the book of all groups (`GroupBook`), the base of plugins that adapt one kind of groups (`GangPlugin`,
`GroupBookPlugin`), the base of reporters, healing of a group that lost members, holds of groups, pods whose group is
missing, pending reports about pods, nominations of members, times around preemption, and groups whose members are the
pods of a workload (`owners`). What does not: the contract itself, which holds only protocols and values, and anything
that runs plugins. Public, like the contract, for authors of group plugins.
"""

from ..model.names import PREFIX
from .annotations import GroupMeta, unknown_annotations
from .book import GROUP_BOOKS, GroupBook, QuorumFollower, QuorumState
from .healing import HEALING_POLICY, GroupRun, HealingPolicy, healing_fault, healing_policy
from .holds import HOLD_ANNOTATIONS, GroupHolds, hold_in
from .members import Members
from .missing_groups import MissingGroups, group_missing
from .nominations import MemberNominations
from .owned_pods import OWNED_PODS, OwnedGroup, OwnedPods
from .owners import (
    GROUP_LABELS,
    JOB_SET_NAME,
    LEADER_WORKER_SET_NAME,
    GroupOwner,
    OwnerKind,
    names_group,
    owner_of_group,
    pod_owner,
)
from .plugin import GATHERING_SECONDS, GangPlugin, GroupBookPlugin
from .pod_reports import PendingReports
from .record import Announcement, EndedMember, GroupObject, GroupRecord, MemberCounts, MemberKind
from .reporting import DatedCondition, GroupReporter, Notice, Report, ReportTime, transition_time
from .timing import (
    MIN_RUN,
    MOST_SECONDS,
    NO_SECONDS,
    PREEMPTION_DELAY,
    TIMING_ANNOTATIONS,
    seconds_in,
    timing_faults,
)
from .workload_groups import WorkloadGroup, WorkloadGroupPlugin, WorkloadGroups

__all__ = [
    "GATHERING_SECONDS",
    "GROUP_BOOKS",
    "GROUP_LABELS",
    "HEALING_POLICY",
    "HOLD_ANNOTATIONS",
    "JOB_SET_NAME",
    "LEADER_WORKER_SET_NAME",
    "MIN_RUN",
    "MOST_SECONDS",
    "NO_SECONDS",
    "OWNED_PODS",
    "PREEMPTION_DELAY",
    "PREFIX",
    "TIMING_ANNOTATIONS",
    "Announcement",
    "DatedCondition",
    "EndedMember",
    "GangPlugin",
    "GroupBook",
    "GroupBookPlugin",
    "GroupHolds",
    "GroupMeta",
    "GroupObject",
    "GroupOwner",
    "GroupRecord",
    "GroupReporter",
    "GroupRun",
    "HealingPolicy",
    "MemberCounts",
    "MemberKind",
    "MemberNominations",
    "Members",
    "MissingGroups",
    "Notice",
    "OwnedGroup",
    "OwnedPods",
    "OwnerKind",
    "PendingReports",
    "QuorumFollower",
    "QuorumState",
    "Report",
    "ReportTime",
    "WorkloadGroup",
    "WorkloadGroupPlugin",
    "WorkloadGroups",
    "group_missing",
    "healing_fault",
    "healing_policy",
    "hold_in",
    "names_group",
    "owner_of_group",
    "pod_owner",
    "seconds_in",
    "timing_faults",
    "transition_time",
    "unknown_annotations",
]
