"""The stage of one situation: namespaces, nodes, quotas and groups on a real API server, and what its pods come to."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.builders import PodDict, make_node, make_pod
from tests.controlplane.api import ApiError
from tests.coscheduling.objects import GROUP_LABEL
from tests.coscheduling.real.gangs import API, GangCluster
from tests.e2e.eventually import eventually
from tests.peers.situations import Amounts, PlayedGroup, PlayedPod, PlayedQuota

_GROUP_TIMEOUT_SECONDS = 10
_DECIDED_WITHIN_SECONDS = 120.0
_DECIDED = ("Unschedulable", "QuotaExceeded")


class PeerStage:
    """The namespaces of a situation by the names that the situation has for them, and its pods by theirs."""

    def __init__(self, open_namespace: Callable[[], GangCluster], classes: Mapping[str, str]) -> None:
        self._open = open_namespace
        self._classes = classes
        self._teams: dict[str, GangCluster] = {}
        self._pods: dict[str, PlayedPod] = {}

    def team(self, name: str) -> GangCluster:
        """A namespace, which is created when it is first named."""
        if name not in self._teams:
            self._teams[name] = self._open()
        return self._teams[name]

    def add_quotas(self, quotas: Mapping[str, PlayedQuota]) -> None:
        """The quotas of namespaces."""
        for name, quota in quotas.items():
            team = self.team(name)
            spec = {"min": dict(quota.min)} | ({} if quota.max is None else {"max": dict(quota.max)})
            body = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": {"name": "quota"}}
            team.api.post(f"{API}/namespaces/{team.namespace}/elasticquotas", {**body, "spec": spec})

    def add_groups(self, groups: Mapping[str, PlayedGroup], team: str = "one") -> None:
        """The groups of a namespace."""
        for name, group in groups.items():
            self.team(team).add_group(
                name, group.needs, min_resources=group.min_resources, timeout=_GROUP_TIMEOUT_SECONDS
            )

    def create(self, pods: Iterable[PlayedPod]) -> None:
        """Pods come in this order, each with what the kubelet says of it."""
        for pod in pods:
            self._pods[pod.name] = pod
            self.team(pod.team).add(self._built(pod))
            if pod.phase:
                self.report(pod.name, pod.phase)

    def report(self, name: str, phase: str) -> None:
        """A kubelet says how the pod is."""
        self.team(self._pods[name].team).set_phase(name, phase)

    def with_nodes(self) -> set[str]:
        """The names of the pods that have nodes and have not ended."""
        return {
            pod["metadata"]["name"]
            for team in self._teams.values()
            for pod in team.pods()
            if pod["spec"].get("nodeName") and pod["status"]["phase"] in ("Pending", "Running")
        }

    def wait_until_decided(self) -> None:
        """Return when Muster has said of each pod without a node that it found none for it.

        The peers' tests do not wait for that, so it may take longer than their situations.
        """
        eventually(lambda: all(self._is_decided(pod) for pod in self._pods.values()), within=_DECIDED_WITHIN_SECONDS)

    def used(self, team: str) -> Any:
        """What the quota of a namespace has used by its status."""
        found = self.team(team).api.get(f"{API}/namespaces/{self.team(team).namespace}/elasticquotas/quota")
        return found.get("status", {}).get("used")

    def status(self, group: str, team: str = "one") -> Any:
        """The status of a group."""
        found = self.team(team).api.get(f"{API}/namespaces/{self.team(team).namespace}/podgroups/{group}")
        return found.get("status", {})

    def _built(self, pod: PlayedPod) -> PodDict:
        built = make_pod(pod.name).requests(pod.requests).priority_class(self._classes[pod.priority])
        built["spec"]["terminationGracePeriodSeconds"] = 0
        if pod.group:
            built.labels({GROUP_LABEL: pod.group})
        return built.node(pod.node) if pod.node else built

    def _is_decided(self, pod: PlayedPod) -> bool:
        team = self.team(pod.team)
        try:
            if team.node_of(pod.name) or team.scheduled_condition(pod.name).get("reason") in _DECIDED:
                return True
        except ApiError:
            return True  # evicted
        return bool(pod.group) and self._lacks_members(team, pod.group)

    def _lacks_members(self, team: GangCluster, group: str) -> bool:
        """Whether Muster has said of the group, with all members that came, that they are too few."""
        alive = sum(pod.group == group and pod.phase != "Succeeded" for pod in self._pods.values())
        reason, message = team.condition(group)
        return reason == "WaitingForPods" and message.startswith(f"{alive} of ")


def node(name: str, resources: Amounts) -> Any:
    """A node that has these resources and no others."""
    built = make_node(name)
    for side in ("capacity", "allocatable"):
        built["status"][side] = dict(resources)
    return built
