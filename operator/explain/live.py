"""The explanation of one pod of a live cluster, which is read with the caller's rights; nothing is written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from muster.framework.contract import GroupId
from muster.framework.contract.reservation import Start
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.run_seconds import says_its_end
from muster.framework.scheduler.explain import Explanation, explain_with
from muster.framework.scheduler.gate_reports import GATED
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.listing import read_object
from muster.operator.kube.transport import Transport
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.process.settings import Assembly
from muster.operator.simulate.evictions import Evicted, evicted_for
from muster.operator.simulate.extenders import NO_EXTENDERS, ExtenderSession
from muster.operator.simulate.live import extender_session, read_cluster
from muster.operator.simulate.manifests import Objects
from muster.operator.simulate.rehearsal import Rehearsal, as_new
from muster.operator.simulate.selectors import selector_sentence
from muster.operator.simulate.sizes import size_sentence
from muster.operator.simulate.wording import unanswered
from muster.plugins.catalog import QUOTAS

from .frozen_engine import frozen_engine
from .group_views import decided_with, permit_message


@dataclass(frozen=True, slots=True)
class Explained:
    """A pod with its explanation.

    Attributes:
        pod: the pod, as the API has it.
        profile: the schedulerName whose profile decided.
        nodes: the number of nodes of the cluster.
        explanation: the decision on the pod alone; for a pod with a node, as if it were placed again.
        gated: the scheduling gates because of which the pod is not tried; "" without any.
        group: what its PodGroup lacks, because of which the pod is not placed although it fits alone; else "".
        evicted: the pods that the pod, or its PodGroup, would evict.
        starts: when the pod, or its PodGroup, would start at the latest with capacity reserved; empty if unknown.
        selector: the pod's node selector, if some node does not match it; else "".
        quota: what the namespace uses of its quota, a sentence for each resource.
        at_permit: why the pod waits at Permit or is rejected there, tried now or as the scheduler reported; else "".
        unanswered: that no profile answers to the pod, which waits; else "".
        member: of which group it is a waiting member, and the command that explains the group; else "".
        size: which of the pod's requests exceed every node; else "".
    """

    pod: PodInfo
    profile: str
    nodes: int
    explanation: Explanation
    gated: str
    group: str
    evicted: Sequence[Evicted]
    starts: Sequence[Start] = ()
    at_permit: str = ""
    selector: str = ""
    quota: Sequence[str] = ()
    unanswered: str = ""
    member: str = ""
    size: str = ""

    @property
    def verdict(self) -> list[str]:
        """Why the pod alone has no node: PreFilter's plugin and message, then what else the Event says."""
        message, turned_away = self.explanation.message, self.explanation.prefilter
        if turned_away is None:
            return [message] if message else []
        rest = message.removeprefix(f"0/{self.nodes} nodes are available: {turned_away.message}.").strip()
        return [f"{turned_away.plugin}: {turned_away.message}", *([rest] if rest else [])]

    @property
    def best(self) -> str:
        """The node that would be chosen, the number of equally good nodes, and a comparison with the pod's own node."""
        own, chosen, totals = self.pod.node_name, self.explanation.chosen, self.explanation.totals
        alike = [name for name, total in totals.items() if total == totals[chosen] and name != chosen]
        more = f" and {len(alike)} more as good" if alike else ""
        if own in alike:
            return f"{chosen}{more}, {own}, where it is, among them"
        if own == chosen:
            return f"{chosen}, where it is,{more}" if more else f"{chosen}, where it is"
        if own in totals:
            return f"{chosen}{more}; {own}, where it is, has {totals[own]} points to {totals[chosen]}"
        return f"{chosen}{more}; {own}, where it is, could not run it now" if own else f"{chosen}{more}"


async def explain_live(assembly: Assembly, connection: Connection, namespace: str, name: str) -> Explained:
    """Explain the pod in the current cluster.

    Raises ApiError if the cluster cannot be read or has no such pod, ConfigurationError for an unusable configuration.
    """
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        pod = PodInfo(
            await read_object(
                client, f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}", Pod
            )
        )
    cluster = await read_cluster(connection, assembly.kinds_to_read())
    async with extender_session(cluster, assembly.configuration, connection) as session:
        return await explain_among(assembly, cluster, pod, now=time.time(), session=session)


async def explain_among(
    assembly: Assembly, cluster: Objects, pod: PodInfo, *, now: float = 0.0, session: ExtenderSession = NO_EXTENDERS
) -> Explained:
    """Explain the pod in a cluster that was read, which is not changed. `now` is in seconds since the epoch.

    The extenders of `session` take part.
    """
    names = [profile.scheduler_name for profile in assembly.profiles]
    wanted = pod.pod.spec.scheduler_name
    profile = wanted if wanted in names else names[0]
    waiting = PodInfo(as_new(pod.pod, profile))
    pods = [*(other for other in cluster.pods if other.metadata.uid != pod.uid), waiting.pod]
    cluster = replace(cluster, pods=pods)
    engine = frozen_engine(assembly, cluster.nodes, cluster.pods, cluster.watched, extenders=session.extenders)
    quota = QUOTAS.standing(engine.shared, pod.namespace)
    in_group = assembly.groups.among(cluster.watched).named_by(pod.pod) is not None
    nominated = pod.pod.status.nominated_node_name
    if nominated and not pod.node_name and not in_group:
        engine.nominator.nominate(waiting, nominated)
    explanation = await explain_with(session.extenders, engine.algorithms[profile], waiting)
    gated = GATED if pod.pod.spec.scheduling_gates else ""
    group, evicted = "", evicted_for(explanation.evictions, pod.key)
    starts: Sequence[Start] = ()
    evicts = explanation.evictions is not None
    at_permit = permit_message(pod.pod)
    waits = not pod.node_name and not gated
    if in_group and waits and (explanation.chosen or evicts):
        group, evicted, starts = await _rehearsed(assembly, cluster, pod, now, session=session)
        if evicts:  # the evictions are for the group, not for this pod alone
            explanation = replace(explanation, message="", evictions=None)
    elif waits and explanation.chosen and engine.algorithms[profile].framework.permitting.has_permit_plugin(waiting):
        now_at_permit, *_ = await _rehearsed(assembly, cluster, pod, now, session=session)
        at_permit = now_at_permit or at_permit
    elif waits and not explanation.chosen and any(says_its_end(each) for each in cluster.pods):
        *_, starts = await _rehearsed(assembly, cluster, pod, now, session=session)
    selector = "" if gated else selector_sentence(pod.pod, cluster.nodes)
    return Explained(
        pod,
        profile,
        len(cluster.nodes),
        explanation,
        gated,
        group,
        evicted,
        starts=starts,
        at_permit=at_permit,
        selector=selector,
        quota=quota,
        unanswered=unanswered(wanted, names) if wanted != profile and not pod.node_name else "",
        size=size_sentence(pod, (each.message for each in explanation.rejected.values()), cluster.nodes),
        member=_member_of(assembly.groups.among(cluster.watched), cluster, pod) if waits else "",
    )


def _member_of(kinds: GroupKinds, cluster: Objects, pod: PodInfo) -> str:
    """The group of the pod, if it exists, and the command that explains it, as a sentence."""
    group = kinds.named_by(pod.pod)
    if group is None:
        return ""
    named = [
        kind for kind in kinds if any(each.metadata.key == group.key for each in cluster.watched.get(kind.objects, ()))
    ]
    own = kinds.of(group)
    if own not in named:
        return ""
    namespace, _, name = group.key.partition("/")
    word = own.objects.name.lower() + (f".{own.objects.group}" if own is not named[0] else "")
    return f"Member of {own.objects.name} {group.key}: see muster why {word}/{name} -n {namespace}"


async def _rehearsed(
    assembly: Assembly, cluster: Objects, pod: PodInfo, now: float, *, session: ExtenderSession
) -> tuple[str, Sequence[Evicted], Sequence[Start]]:
    """The result of trying the pod together with all waiting members of its group, and of the group's tree.

    Returns why the pod finds no node ("" if it finds one), the evicted pods, and when the pod starts otherwise.
    """
    kinds = assembly.groups.among(cluster.watched)
    group = kinds.named_by(pod.pod)
    kind = None if group is None else kinds.of(group)
    together: set[GroupId] = set()
    if group is not None and kind is not None:
        together = {GroupId(group.plugin, key) for key in decided_with(kind, cluster.watched, group.key)}
    members = [
        each
        for each in cluster.pods
        if each.metadata.uid == pod.uid or (kinds.named_by(each) in together and not each.spec.node_name)
    ]
    async with Rehearsal(assembly, cluster, Objects(pods=members), wall=now, session=session) as rehearsal:
        placements = await rehearsal.place(rehearsal.pods)
        evicted, starts = rehearsal.evicted, rehearsal.starts
    return next(placement.reason for placement in placements if placement.pod.uid == pod.uid), evicted, starts
