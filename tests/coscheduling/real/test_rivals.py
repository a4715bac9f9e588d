"""Another scheduler takes a node between decision and binding: no node gives more than it has, the gang comes whole."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.builders import make_node, make_pod
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.objects import make_members
from tests.coscheduling.real.conftest import AddNodes, StartMuster
from tests.coscheduling.real.gangs import GangCluster, used
from tests.e2e.eventually import eventually

HESITATION = '''
"""Holds every pod for a while between the decision and its binding."""

from muster.framework.contract import PermitPlugin, Wait


class Hesitation(PermitPlugin):
    name = "Hesitation"

    def permit(self, state, pod, node_name):
        def go_on():
            waiting = self.handle.waiting_pods.get(pod.uid)
            if waiting is not None:
                waiting.allow(self.name)

        self.handle.clock.call_later(2.0, go_on)
        return Wait(60.0)
'''
ASSUMED = 'scheduler_cache_size{type="assumed_pods"}'


@pytest.fixture(scope="module")
def hesitation(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process beside which the plugin is installed, laid out as pip lays out packages."""
    folder = tmp_path_factory.mktemp("hesitation")
    (folder / "hesitation.py").write_text(HESITATION)
    info = folder / "hesitation-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hesitation\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[muster.plugins]\nHesitation = hesitation:Hesitation\n")
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_a_gang_whose_node_a_rival_takes_before_its_binding_goes_back_whole_and_comes_again(
    start_muster: StartMuster,
    hesitation: dict[str, str],
    control_plane: ControlPlane,
    api: Api,
    namespace: str,
    add_nodes: AddNodes,
    tmp_path: Path,
) -> None:
    add_nodes(*(make_node(f"slot-{number}", cpu="1") for number in range(6)))
    process = start_muster(args={}, plugins=("Hesitation",), environment=hesitation)
    gangs = GangCluster(control_plane, api, namespace, process.name)
    gangs.add_group("train", 4)
    gangs.add(*make_members("train", 4))
    eventually(lambda: process.metric(ASSUMED) == 4)
    rivals = {}
    for number in range(3):  # of six slots four are taken; one of any three is
        gangs.create(make_pod(f"rival-{number}").requests(cpu="1"), scheduler="rival")
        gangs.bind(f"rival-{number}", f"slot-{number}")
        rivals[f"rival-{number}"] = f"slot-{number}"
    eventually(lambda: any("lost its place on node" in note for n in range(4) for note in gangs.said(f"train-{n}")))
    assert gangs.nodes() == rivals

    gangs.delete("rival-2")
    del rivals["rival-2"]
    started = gangs.wait_until_started("train", 4)
    assert gangs.nodes() == {**started, **rivals}
    assert max(used(gangs.nodes()).values()) == 1


def test_rivals_that_take_nodes_while_gangs_come_leave_none_in_part(gangs: GangCluster, add_nodes: AddNodes) -> None:
    """Decision and binding race with the rivals here; the API takes what comes first."""
    add_nodes(*(make_node(f"slot-{number}", cpu="2") for number in range(8)))
    for number in range(8):
        gangs.create(make_pod(f"rival-{number}").requests(cpu="1"), scheduler="rival")
    for number in range(4):
        gangs.add_group(f"g-{number}", 4)
        gangs.add(*make_members(f"g-{number}", 4))
        gangs.bind(f"rival-{2 * number}", f"slot-{2 * number}")
        gangs.bind(f"rival-{2 * number + 1}", f"slot-{2 * number + 1}")
    eventually(lambda: all(map(_is_decided, gangs.pods())))
    counts = {len(gangs.nodes(f"g-{number}")) for number in range(4)}

    assert counts <= {0, 4}


def _is_decided(pod: Any) -> bool:
    """Whether it is bound, or told that it has no place; nothing makes room here."""
    said = [each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"]
    return bool(said) and (said[0]["status"], said[0].get("reason")) in {("True", None), ("False", "Unschedulable")}
