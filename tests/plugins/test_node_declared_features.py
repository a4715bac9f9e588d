"""NodeDeclaredFeatures: a node has to declare what a pod needs of its kubelet."""

from typing import Any

import msgspec
import pytest

from muster.framework.contract import Action, CycleState, EventResource, Hint, Status
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.plugins.nodes.node_declared_features import NodeDeclaredFeatures
from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.plugins.cluster import Cluster, info

RESTART = "RestartAllContainersOnContainerExits"
USERS = "UserNamespacesHostNetworkSupport"
MOUNTS = "VolumeBindMountOptions"
REFUSED = Status.unresolvable("node(s) didn't match Pod's required features")


def pod(**spec: Any) -> PodDict:
    made = make_pod("p")
    made["spec"].update(spec)
    return made


def node(name: str, *features: str) -> NodeDict:
    made = make_node(name)
    made["status"]["declaredFeatures"] = list(features)
    return made


RULE = {"action": "RestartAllContainers"}
NEEDS: dict[str, tuple[PodDict, str | None]] = {
    "a container that restarts all": (pod(containers=[{"name": "c", "restartPolicyRules": [RULE]}]), RESTART),
    "an init container that restarts all": (pod(initContainers=[{"name": "c", "restartPolicyRules": [RULE]}]), RESTART),
    "another rule": (pod(containers=[{"name": "c", "restartPolicyRules": [{"action": "Restart"}]}]), None),
    "a user namespace on the host network": (pod(hostNetwork=True, hostUsers=False), USERS),
    "the host network": (pod(hostNetwork=True), None),
    "a user namespace": (pod(hostUsers=False), None),
    "options of a bind mount": (
        pod(containers=[{"name": "c", "volumeMounts": [{"name": "v", "bindMountOptions": ["noexec"]}]}]),
        MOUNTS,
    ),
    "a mount without options": (pod(containers=[{"name": "c", "volumeMounts": [{"name": "v"}]}]), None),
}


@pytest.mark.parametrize("need", NEEDS)
def test_a_node_must_declare_what_is_needed_for(need: str) -> None:
    wanted, feature = NEEDS[need]
    cluster = Cluster(node("none"), node("all", RESTART, USERS, MOUNTS), node("one", *([feature] if feature else [])))
    plugin = cluster.plugin(NodeDeclaredFeatures)
    assert cluster.rejected(plugin, wanted) == ({"none": REFUSED} if feature else {})
    answer = plugin.pre_filter(CycleState(), info(wanted), cluster.view())
    assert answer == (None if feature else Status.skip())


def hint(resource: str) -> Any:
    registered = Cluster(make_node("n")).plugin(NodeDeclaredFeatures).events_to_register()
    [found] = [each for each in registered if each.event.resource == resource]
    return found


def test_a_node_helps_when_it_comes_or_declares_something_else() -> None:
    found = hint(EventResource.NODE)
    assert found.event.action == Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE
    plain, able = (msgspec.convert(each, Node) for each in (node("n"), node("n", USERS)))
    waiting = info(pod(hostNetwork=True, hostUsers=False))
    assert found.hint(waiting, None, plain) is Hint.QUEUE
    assert found.hint(waiting, plain, able) is Hint.QUEUE
    assert found.hint(waiting, able, able) is Hint.SKIP


def test_the_pod_helps_itself_when_it_needs_something_else() -> None:
    found = hint(EventResource.TARGET_POD)
    assert found.event.action == Action.UPDATE
    able, plain = (PodInfo(msgspec.convert(each, Pod)) for each in (pod(hostNetwork=True, hostUsers=False), pod()))
    assert found.hint(able, able, plain) is Hint.QUEUE
    assert found.hint(plain, plain, plain) is Hint.SKIP
