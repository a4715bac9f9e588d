"""`muster run` before it schedules: what it warns of, and what it refuses."""

from pathlib import Path

import yaml

from muster.operator.process.settings import Assembly, assemble, cautions, muster_configuration, read_configuration


def configured(folder: Path, *profiles: object) -> Assembly:
    """What a file with these profiles comes to."""
    path = folder / "config.yaml"
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    path.write_text(yaml.safe_dump({**head, "profiles": profiles}))
    return assemble(read_configuration(path))


def plugins(*enabled: str, disabled: tuple[str, ...] = ()) -> object:
    named = {"enabled": [{"name": name} for name in enabled], "disabled": [{"name": name} for name in disabled]}
    return {"multiPoint": named}


def test_the_default_configuration_gives_no_cause_for_a_warning() -> None:
    assert list(cautions(assemble(muster_configuration()))) == []


def test_a_configuration_that_schedules_gangs_by_no_profile_is_warned_of(tmp_path: Path) -> None:
    assert list(cautions(configured(tmp_path, {"schedulerName": "packing"}))) == [
        "no profile enables Coscheduling: PodGroups are not looked at, and their members are scheduled one by one"
    ]


def test_a_profile_is_warned_of_for_the_plugins_that_it_runs_without(tmp_path: Path) -> None:
    gangs = plugins("Coscheduling", disabled=("PrioritySort",))
    volumes = plugins("VolumeZone", "Coscheduling", "VolumeBinding", disabled=("PrioritySort",))
    assembly = configured(
        tmp_path, {"schedulerName": "plain", "plugins": gangs}, {"schedulerName": "volumes", "plugins": volumes}
    )
    assert list(cautions(assembly)) == [
        'profile "volumes" runs without VolumeBinding, VolumeZone: Muster does not have these plugins yet'
    ]
