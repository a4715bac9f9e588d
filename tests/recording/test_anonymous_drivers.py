"""Anonymous copies with CSI drivers: a driver has one name, old or new, wherever it occurs."""

from pathlib import Path

import pytest

from muster.operator.recording.names import anonymous_copy
from muster.operator.recording.reader import Recording
from muster.testing import make_node, make_pod

from .recorded import RecordedScheduler, assembled, replayed

DRIVERS = ("yak.example", "yak.csi.k8s.io", "ebs.csi.aws.com", "pd.csi.storage.gke.io", "csi.vsphere.vmware.com")


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_copy_replays_exactly_whatever_the_csi_driver_is_called(tmp_path: Path, driver: str) -> None:
    cluster = RecordedScheduler(tmp_path / "recording")
    cluster.add_nodes(make_node("tapir-1", cpu="4"), make_node("tapir-2", cpu="4"))
    wishes = {"storageCapacity": True, "preventPodSchedulingIfMissing": True}
    cluster.api.put("csidrivers", {"metadata": {"name": driver}, "spec": wishes})
    installed = {"drivers": [{"name": driver, "nodeID": "tapir-1", "allocatable": {"count": 1}}]}
    cluster.api.put("csinodes", {"metadata": {"name": "tapir-1"}, "spec": installed})
    wait = {"provisioner": driver, "volumeBindingMode": "WaitForFirstConsumer"}
    cluster.api.put("storageclasses", {"metadata": {"name": "skunk"}, **wait})
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}
    asked |= {"storageClassName": "skunk"}
    cluster.api.put("persistentvolumeclaims", {"metadata": {"name": "new", "namespace": "default"}, "spec": asked})
    for name in ("urial", "vicuna"):
        meta = {"name": name, "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        bound = {"metadata": meta, "spec": {**asked, "volumeName": name}}
        cluster.api.put("persistentvolumeclaims", bound)
        spec = {"capacity": {"storage": "5Gi"}, "csi": {"driver": driver, "volumeHandle": f"{name}-1"}}
        spec |= {"claimRef": {"namespace": "default", "name": name, "uid": f"uid-{name}"}}
        cluster.api.put("persistentvolumes", {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Bound"}})
    for name in ("new", "urial", "vicuna"):
        cluster.add(make_pod(name).claim(name))
        await cluster.run(5)
    recording = cluster.end()
    assert [cluster.node_of(f"default/{name}") for name in ("new", "urial", "vicuna")] == ["", "tapir-1", ""]
    anonymous_copy(recording, tmp_path / "copy", assembled())
    comparison = replayed(Recording(tmp_path / "copy"))
    assert comparison.exact, (comparison.own_way, comparison.broken_off, comparison.reworded)
    assert "yak" not in (tmp_path / "copy").read_text()
