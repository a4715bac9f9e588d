"""Anonymous copies of NodeResourceTopologies: no word of the site stays, and fingerprints over names are refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from muster.operator.recording.names import anonymous_copy
from muster.operator.recording.reader import Recording, RecordingError
from muster.operator.recording.replay import Replay
from muster.plugins.noderesourcetopology.api import TOPOLOGIES
from muster.plugins.noderesourcetopology.fingerprint import fingerprint
from muster.testing import make_node
from tests.noderesourcetopology.objects import guaranteed, make_topology

from .recorded import RecordedScheduler, assembled

PLUGINS = ("NodeResourceTopologyMatch",)
FREE = {"cpu": "4", "memory": "8Gi", "yak.example/nic": "1"}
NAMES_READ = {"nodeTopologyPodsFingerprint": fingerprint([]), "nodeTopologyPodsFingerprintMethod": "all"}
OTHERS = {"yak.example/site": "tapir", "skunk": "vicuna-7", "topologyManagerMaxNUMANodes": "9"}


async def reported(path: Path, attributes: Mapping[str, str], **more: Any) -> RecordedScheduler:
    """Pods that fit into zones, of which one is called otherwise, and one that does not."""
    cluster = RecordedScheduler(path, plugins=PLUGINS)
    cluster.add_nodes(make_node("tapir-1", cpu="12", memory="64Gi"))
    topology = make_topology("tapir-1", FREE, FREE, attributes=attributes, costs=[[10, 20], [20, 10]])
    topology["zones"].append({"name": "skunk-1", "type": "Tapir", "resources": topology["zones"][0]["resources"]})
    topology["metadata"] |= more
    cluster.api.put(TOPOLOGIES.resource, topology)
    for name, cpu in (("yak", "3"), ("urial", "3"), ("vicuna", "3"), ("skunk", "1")):
        cluster.add(guaranteed(name, {"cpu": cpu, "memory": "1Gi"}))
        await cluster.run(5)
    return cluster


@pytest.mark.parametrize("scope", ["container", "pod", "wombat"])
async def test_a_copy_has_of_a_report_only_what_decisions_read(tmp_path: Path, scope: str) -> None:
    attributes = {**NAMES_READ, **OTHERS, "topologyManagerScope": scope}
    cluster = await reported(tmp_path / "recording", attributes, annotations={"topology.node.k8s.io/x": "urial"})
    bound = [name for name in ("yak", "urial", "vicuna", "skunk") if cluster.node_of(f"default/{name}")]
    assert bound == ["yak", "urial", "skunk"]
    recording = cluster.end()
    anonymous_copy(recording, tmp_path / "copy", assembled(plugins=PLUGINS))
    comparison = Replay(Recording(tmp_path / "copy"), assembled(plugins=PLUGINS)).run()
    assert comparison.exact, (comparison.own_way, comparison.broken_off, comparison.reworded)
    text = (tmp_path / "copy").read_text().lower()
    secrets = ("yak", "urial", "vicuna", "skunk", "tapir", "wombat")
    assert [secret for secret in secrets if secret in text] == []


@pytest.mark.parametrize("place", ["attribute", "annotation"])
async def test_a_fingerprint_of_pods_is_refused(tmp_path: Path, place: str) -> None:
    of_pods = fingerprint([("default", "yak")])
    attributes = {"nodeTopologyPodsFingerprint": of_pods} if place == "attribute" else {}
    annotations = {"topology.node.k8s.io/fingerprint": of_pods} if place == "annotation" else {}
    recording = (await reported(tmp_path / "recording", attributes, annotations=annotations)).end()
    with pytest.raises(RecordingError, match=r"noderesourcetopologies\S* /tapir-1: its fingerprint is made of"):
        anonymous_copy(recording, tmp_path / "copy", assembled(plugins=PLUGINS))
    assert not (tmp_path / "copy").exists()
