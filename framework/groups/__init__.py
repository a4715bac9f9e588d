"""What group plugins are made of: the books of groups and members, and what follows from them.

What belongs here: state and behaviour that every plugin which knows groups needs, whatever its groups are called on the
API: who is a member (`Members`), the groups themselves (`GroupBook`, `GroupBookPlugin`), how a group that lost members
heals, pods whose group is missing, and nominations of members. What does not: the contract itself, which holds
protocols and values only, and anything that runs plugins. Public, as the contract is, for authors of group plugins.
"""

from .annotations import PREFIX, GroupMeta, unknown_annotations
from .book import GroupBook, GroupBookPlugin, GroupObject
from .healing import HEALING_POLICY, GroupRun, HealingPolicy, healing_fault, healing_policy
from .members import EndedMember, MemberCounts, MemberKind, Members
from .missing_groups import MissingGroups
from .nominations import MemberNominations
from .reporting import GroupReporter, Look, Notice, Report

__all__ = [
    "HEALING_POLICY",
    "PREFIX",
    "EndedMember",
    "GroupBook",
    "GroupBookPlugin",
    "GroupMeta",
    "GroupObject",
    "GroupReporter",
    "GroupRun",
    "HealingPolicy",
    "Look",
    "MemberCounts",
    "MemberKind",
    "MemberNominations",
    "Members",
    "MissingGroups",
    "Notice",
    "Report",
    "healing_fault",
    "healing_policy",
    "unknown_annotations",
]
