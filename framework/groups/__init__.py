"""What group plugins are made of: the books of groups and members, and what follows from them.

What belongs here: state and behaviour that every plugin which knows groups needs, whatever its groups are called on the
API: who is a member (`Members`), the groups themselves (`GroupBook`, `GroupBookPlugin`), how a group that lost members
heals, pods whose group is missing, and nominations of members. What does not: the contract itself, which holds
protocols and values only, and anything that runs plugins. Public, as the contract is, for authors of group plugins.
"""

from .annotations import PREFIX, AnnotatedMeta, unknown_annotations
from .book import GroupBook, GroupBookPlugin, GroupObject
from .healing import HEALING_POLICY, GroupRun, HealingPolicy, healing_fault, healing_policy
from .members import Counts, EndedMember, Kind, Members
from .missing_groups import MissingGroups
from .nominations import MemberNominations
from .reporting import GroupReporter, Look, Notice, Report

__all__ = [
    "HEALING_POLICY",
    "PREFIX",
    "AnnotatedMeta",
    "Counts",
    "EndedMember",
    "GroupBook",
    "GroupBookPlugin",
    "GroupObject",
    "GroupReporter",
    "GroupRun",
    "HealingPolicy",
    "Kind",
    "Look",
    "MemberNominations",
    "Members",
    "MissingGroups",
    "Notice",
    "Report",
    "healing_fault",
    "healing_policy",
    "unknown_annotations",
]
