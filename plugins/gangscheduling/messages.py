"""The plugin's messages, in kube-scheduler's words where it has them, with their grammar: tools match on them."""

from __future__ import annotations

from functools import lru_cache

from muster.framework.contract import NoDomain

UNSCHEDULABLE = "pod group is unschedulable"
RESUMED = "the pod group is no longer held, and has not been tried yet"
TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"


def unsatisfied(min_count: int, scheduled: int, remaining: int) -> str:
    """Fewer pods than the group needs can be scheduled: so many are, so many have not been tried."""
    return f"minCount ({min_count}) cannot be satisfied: {scheduled} scheduled, {remaining} remaining"


def too_few(min_count: int, scheduled: int, remaining: int) -> str:
    """The message about a group that has too few pods for any to be tried."""
    return f"{UNSCHEDULABLE}, {unsatisfied(min_count, scheduled, remaining)}"


@lru_cache(maxsize=8)
def of_no_use(reason: str) -> str:
    """The message for pods that found a node, with the group's reason; thousands of pods share one text."""
    return f"{UNSCHEDULABLE}, {reason}"


def no_domain(found: NoDomain, unsatisfied: str) -> str:
    """The message if no domain can take the group; `unsatisfied` is what the closest domain lacks.

    If the group has too few pods for any to be tried, kube-scheduler leaves out the counts.
    kube-scheduler does not report a label that no node has; it is named after kube-scheduler's words.
    """
    if not found.best:
        return f"no feasible placements found: no node has {found.absent}"
    tried = f"0/{found.domains} placements are available, first placement status"
    return f"{UNSCHEDULABLE}, {tried}: {unsatisfied}"


def closest(found: NoDomain) -> str:
    """The sentence that names the closest domain, which kube-scheduler does not report; "" if there is none."""
    if not found.best:
        return ""
    return f"Others of its pods run in {found.where}." if found.pinned else f"{found.where} comes closest."


def composite_missing(name: str) -> str:
    """The group is a part of a CompositePodGroup that does not exist (yet)."""
    return f'waiting for composite pod group "{name}" to appear in scheduling queue'


def too_deep(name: str) -> str:
    """The group is a part of a part of a part of a part, or of itself."""
    return f'composite pod groups above "{name}" are nested too deeply, or in a circle'


def tree_not_ready(root: str, reason: str) -> str:
    """A hierarchy is not tried yet."""
    return f'waiting for composite pod group "{root.rpartition("/")[2]}" tree to meet quorum: {reason}'


def lacks_parts(name: str, ready: int, needed: int) -> str:
    """Too few parts of a CompositePodGroup exist with their pods."""
    have = "has its" if 1 in (ready, needed) else "have their"
    return f'{ready} of the {needed} {_noun("group", needed)} that "{name}" needs {have} pods'


def lacks_members(name: str, exist: int, needed: int) -> str:
    """Too few pods of a part exist."""
    return f'{exist} of the {needed} {_noun("pod", needed)} that "{name}" needs {_exist(exist, needed)}'


def part_error(error: str) -> str:
    """For the group and its other parts: an error struck one of them."""
    return f"composite pod group evaluation failed due to child error: {error}"


def member_error(error: str) -> str:
    """For the group and its other pods: an error struck one of them."""
    return f"failed to schedule other pod from a pod group: {error}"


def other_scheduler(pods: str, first: str) -> str:
    """Two pods of the group name different schedulers."""
    return f'all pods in a single pod group should have the same .spec.schedulerName set, got: "{pods}" and "{first}"'


def other_priority(pods: int, groups: int) -> str:
    """A pod has another priority than its group."""
    return (
        "all pods in a single pod group should have the same priority as the pod group's priority, "
        f"got {pods} and {groups}"
    )


def other_preemption_policy(pods: str, groups: str) -> str:
    """A pod has another preemption policy than its group."""
    return (
        "all pods in a single pod group should have the same preemption policy as the pod group's preemption policy, "
        f"got {pods} and {groups}"
    )


def unlike_preemption_policies(pods: str, first: str) -> str:
    """Two pods have different preemption policies, and the group names none."""
    return f"all pods in a single pod group should have the same preemption policy, got {pods} and {first}"


def waiting_for_pods(exist: int, min_count: int) -> str:
    """For the group's event: it cannot be tried yet."""
    return f"{exist} of the {min_count} {_noun('pod', min_count)} that it needs {_exist(exist, min_count)}"


def scheduled(min_count: int) -> str:
    """For the group's event: it has as many pods with nodes as it needs, or more."""
    needed = "pod that it needs is" if min_count == 1 else f"{min_count} pods that it needs are"
    return f"the {needed} scheduled"


def _noun(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def _exist(count: int, total: int) -> str:
    return "exists" if 1 in (count, total) else "exist"
