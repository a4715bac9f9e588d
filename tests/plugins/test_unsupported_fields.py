"""UnsupportedFields: what only missing plugins can judge keeps a pod waiting, unless the profile switched them off."""

from typing import Any

import msgspec
import pytest

from muster.framework.config import ResolvedProfile, load, resolve
from muster.framework.contract import CycleState, Status
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.plugins.catalog import DEFAULTS, IN_TREE, KNOWN_UNIMPLEMENTED, extension_points, guarded
from muster.plugins.unsupported.unsupported_fields import UnsupportedFields, UnsupportedFieldsArgs
from tests.builders import make_node, make_pod
from tests.plugins.cluster import Cluster

PLACE = "spec.containers[0]"

FIELDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "claim": (
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]},
        "VolumeBinding",
        "spec.volumes[0].persistentVolumeClaim",
    ),
    "ephemeral": (
        {"volumes": [{"name": "u", "emptyDir": {}}, {"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}]},
        "VolumeBinding",
        "spec.volumes[1].ephemeral",
    ),
    "exclusive disk": (
        {"volumes": [{"name": "v", "gcePersistentDisk": {"pdName": "disk"}}]},
        "VolumeRestrictions",
        "spec.volumes[0].gcePersistentDisk",
    ),
    "exclusive image": (
        {"volumes": [{"name": "v", "rbd": {"monitors": ["a"], "image": "i"}}]},
        "VolumeRestrictions",
        "spec.volumes[0].rbd",
    ),
    "counted volume": (
        {"volumes": [{"name": "v", "csi": {"driver": "d"}}]},
        "NodeVolumeLimits",
        "spec.volumes[0].csi",
    ),
}


def judge(spec: dict[str, Any], *missing: str) -> Status | None:
    cluster = Cluster(make_node("n"))
    pod = make_pod("p")
    pod["spec"].update(spec)
    plugin = cluster.plugin(UnsupportedFields, UnsupportedFieldsArgs(plugins=missing))
    return plugin.pre_filter(CycleState(), PodInfo(msgspec.convert(pod, Pod)), cluster.view())


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_a_missing_plugin_keeps_the_pod_waiting_and_is_named(field: str) -> None:
    spec, plugin, name = FIELDS[field]
    reason = f"{name} is not supported yet: Muster does not have {plugin}"
    assert judge(spec, plugin) == Status.unresolvable(reason)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_no_concern_where_its_plugin_is_there_or_switched_off(field: str) -> None:
    spec, plugin, _ = FIELDS[field]
    assert judge(spec, *({each for _, each, _ in FIELDS.values()} - {plugin})) is None


def test_every_field_that_is_in_the_way_is_named() -> None:
    (volume,) = FIELDS["counted volume"][0]["volumes"]
    spec = {"volumes": [*FIELDS["claim"][0]["volumes"], volume]}
    status = judge(spec, "NodeVolumeLimits", "VolumeBinding")
    assert status is not None
    assert [reason.split()[0] for reason in status.reasons] == [
        "spec.volumes[1].csi",
        "spec.volumes[0].persistentVolumeClaim",
    ]


def test_a_pod_that_asks_for_nothing_unusual_goes_on() -> None:
    assert judge({"volumes": [{"name": "v", "emptyDir": {}}], "hostNetwork": True}, *KNOWN_UNIMPLEMENTED) is None


def profile(plugins: str, missing: frozenset[str]) -> ResolvedProfile:
    text = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: [{plugins: %s}]}"
    (found,) = resolve(
        load((text % plugins).encode(), "file"),
        defaults=DEFAULTS,
        extends={name: extension_points(plugin) for name, plugin in IN_TREE.items()},
        known_unimplemented=missing,
    )
    return guarded(found)


@pytest.mark.parametrize(
    ("plugins", "stands_for"),
    [
        ("{}", ["Absent", "Other"]),
        ("{multiPoint: {disabled: [{name: Absent}]}}", ["Other"]),
        ("{multiPoint: {disabled: [{name: Absent}], enabled: [{name: Absent}]}}", ["Absent", "Other"]),
        ("{filter: {disabled: [{name: Absent}]}}", ["Absent", "Other"]),
        (
            "{preFilter: {disabled: [{name: Absent}]}, filter: {disabled: [{name: '*'}]},"
            " score: {disabled: [{name: Absent}]}}",
            ["Other"],
        ),
    ],
)
def test_the_guard_stands_for_plugins_that_the_profile_would_run(plugins: str, stands_for: list[str]) -> None:
    found = profile(plugins, frozenset({"Absent", "Other"}))
    assert found.points["preFilter"][1].name == "UnsupportedFields"
    assert found.args["UnsupportedFields"] == UnsupportedFieldsArgs(plugins=tuple(stands_for))


def test_no_guard_stands_where_nothing_is_missing() -> None:
    found = profile("{}", frozenset())
    assert "UnsupportedFields" not in {plugin.name for plugin in found.points["preFilter"]}
