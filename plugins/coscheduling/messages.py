"""The plugin's messages. The texts are those of scheduler-plugins and kube-scheduler where they have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muster.framework.contract import NoDomain
from muster.framework.contract.arguments import format_duration
from muster.framework.model.pod_info import PodInfo

NOT_FOUND = "PodGroup not found"
UNRESERVED = "rejection in Unreserve"
OPTIMISTIC = "optimistic rejection in PostFilter"
LEFT = "pod left its pod group while it waited"
NOT_ENOUGH_WAITING = "not enough members of the pod group are waiting to be scheduled"
_NAMED = 5


def resumed(user: str) -> str:
    """The hold of the group was ended; `user` is "" if it is unknown by whom."""
    return f"the pod group is no longer held{f': resumed by {user}' if user else ''}"


def denied(group: str, expiration: str) -> str:
    """The group was denied a moment ago; `expiration` is how long a denial lasts, as Go prints it."""
    return f"pod with pgName: {group} last failed in {expiration}, deny."


def backed_off(group: str) -> str:
    """The group did not fit a moment ago, and podGroupBackoffSeconds is not over."""
    return f"podGroup {group} failed recently"


def too_few_siblings(pod: PodInfo, current: int, min_member: int) -> str:
    """Fewer members exist than the group needs."""
    return (
        f"pre-filter pod {pod.name} cannot find enough sibling pods, "
        f"current pods number: {current}, minMember of group: {min_member}"
    )


def gated_siblings(pod: PodInfo, gated: Sequence[PodInfo]) -> str:
    """Enough members exist, but not without those that have scheduling gates."""
    names = sorted(sibling.name for sibling in gated)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"pre-filter pod {pod.name} cannot proceed due to gated pods in the same PodGroup: "
        f"{', '.join(names[:_NAMED])}{more}"
    )


def resource_gap(missing: str) -> str:
    """Less is free than minResources asks for."""
    return f"resource gap: {missing}"


def group_unschedulable(group: str, placed: int, missing: int, cause: str, *, no_domain: NoDomain | None = None) -> str:
    """The members that the group lacks do not fit together, or in no topology domain: the numbers are of the best.

    `cause` is why the next member finds no node, with `placed` of them where they fit.
    """
    if no_domain is not None and not no_domain.domains:
        return f"pod group {group} is unschedulable, no node has {no_domain.absent}"
    where = ""
    if no_domain is not None:
        which = "where others of it run" if no_domain.pinned else f"the best of {_domains(no_domain.domains)}"
        where = f" in {no_domain.where}, {which}" if no_domain.where else ""
        where += f", in {no_domain.slices}" if no_domain.slices else ""
    fit = f"{placed} of the {missing} members that it needs {'fits' if placed == 1 else 'fit'}"
    if missing == 1:
        fit = "the 1 member that it needs does not fit"
    beside = f"; with {'that one' if placed == 1 else f'those {placed}'} placed" if placed else ""
    return f"pod group {group} is unschedulable, {fit}{where}{beside}: {cause}"


def group_failed(group: str, cause: str) -> str:
    """An error before it was known where the members that the group lacks could go."""
    return f"pod group {group} is unschedulable: {cause}"


def _domains(count: int) -> str:
    return "1 domain" if count == 1 else f"{count} domains"


def rejected_after_post_filter(group: str, pod: PodInfo) -> str:
    """One member found no node, so its waiting siblings were rejected."""
    return f"PodGroup {group} gets rejected due to Pod {pod.name} is unschedulable even after PostFilter"


def waits_at_permit(placed: int, min_member: int) -> str:
    """The member has a node and waits for the others."""
    return f"waiting for minCount pods from a gang to be scheduled: {placed} of {min_member}"


def waiting_for_pods(current: int, min_member: int) -> str:
    """For the group: fewer members exist than it needs."""
    return f"{_pods(current, min_member)} {'exists' if 1 in (current, min_member) else 'exist'}"


def gated_pods(gated: int, pods: int, min_member: int) -> str:
    """For the group: enough members exist, but so many have scheduling gates that the others are not tried."""
    has = "has" if gated == 1 else "have"
    return f"{_pods(gated, pods)} {has} scheduling gates, and {_are(min_member)} needed"


def too_few_tried(tried: int, missing: int, elsewhere: Mapping[str, int], unqueued: int) -> str:
    """For the group: enough members exist, but too few of them are here to be tried.

    `elsewhere` counts members by the schedulers that they are left to, `unqueued` those that PreEnqueue gates.
    """
    parts = [f"{_are(elsewhere[name])} left to scheduler {name}" for name in sorted(elsewhere)]
    parts += [f"{_are(unqueued)} held back before the queue"] if unqueued else []
    members = "member" if missing == 1 else "members"
    return f"{tried} of the {missing} {members} that it needs can be tried: {', '.join(parts)}"


def _are(count: int) -> str:
    return "1 is" if count == 1 else f"{count} are"


def _pods(count: int, total: int) -> str:
    return f"{count} of {total} {'pod' if total == 1 else 'pods'}"


def scheduled(count: int, min_member: int) -> str:
    """For the group: how many of its quorum have nodes. Members beyond the quorum do not change the text."""
    if count >= min_member:
        needed = "pod that it needs is" if min_member <= 1 else f"{min_member} pods that it needs are"
        return f"the {needed} scheduled"
    return f"{_pods(count, min_member)} {'is' if 1 in (count, min_member) else 'are'} scheduled"


def not_bound(bound: int, min_member: int, refused: Mapping[str, str]) -> str:
    """For the group: a part of its quorum is bound, and the API refused to bind others.

    `refused` maps the key of each of those pods to the reason.
    """
    first = min(refused)
    many = f"{len(refused)} were refused, the first" if len(refused) > 1 else "1 was refused"
    return (
        f"{_pods(bound, min_member)} {'is' if bound == 1 else 'are'} bound, {many}: {first}: {refused[first]}; "
        "tried again before others, with its node kept, after a backoff"
    )


def timed_out(group: str, seconds: float) -> str:
    """For the group: members timed out at Permit."""
    return f"pod group {group} was given up after its members waited {format_duration(seconds)} for each other"
