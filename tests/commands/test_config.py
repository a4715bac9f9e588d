"""`muster config check`: what a file comes to, and what is wrong with it."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from muster.operator.cli import main

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
GANGS = {"multiPoint": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "PrioritySort"}]}}


def check(*words: str) -> Result:
    return CliRunner().invoke(main, ["config", "check", *words])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def test_a_profile_is_shown_with_its_plugins_in_calling_order_weights_and_arguments(file: Path) -> None:
    plugins = {"multiPoint": {"enabled": [{"name": "Coscheduling"}, {"name": "ImageLocality", "weight": 7}]}}
    plugins["multiPoint"]["disabled"] = [{"name": "PrioritySort"}]
    args = [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}]
    profile = {"schedulerName": "gpu", "plugins": plugins, "pluginConfig": args, "percentageOfNodesToScore": 30}
    file.write_text(yaml.safe_dump({**HEAD, "profiles": [profile]}))
    shown = check(str(file), "-o", "wide")
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert lines[0] == "profile gpu, which scores 30 % of nodes"
    (score,) = [line for line in lines if line.startswith("score ")]
    assert "ImageLocality*7" in score
    assert any(line.startswith("Coscheduling ") and "permitWaitingTimeSeconds=10" in line for line in lines)
    assert any(line.split() == ["TaintToleration", "muster-scheduler"] for line in lines)
    (shape,) = [line for line in lines if line.startswith("VolumeBinding ") and "shape=" in line]
    assert shape.endswith('shape=[{"utilization":0,"score":10},{"utilization":100,"score":0}]')
    assert lines[-1] == f"{file}: nothing is wrong, pods are scheduled for gpu"


def test_a_file_without_errors_is_confirmed_in_a_line(file: Path) -> None:
    file.write_text(yaml.safe_dump({**HEAD, "profiles": [{"schedulerName": "gpu", "plugins": GANGS}]}))
    shown = check(str(file))
    assert (shown.exit_code, shown.output) == (0, f"{file}: nothing is wrong, pods are scheduled for gpu\n")


def test_names_that_have_no_effect_are_reported_with_the_nearest_one(file: Path) -> None:
    plugins = {**GANGS, "score": {"disabled": [{"name": "ImageLocalty"}]}}
    config = [{"name": "NetworkOverhead", "args": {}}]
    file.write_text(yaml.safe_dump({**HEAD, "profiles": [{"plugins": plugins, "pluginConfig": config}]}))
    shown = check(str(file))
    assert shown.exit_code == 0
    assert shown.output.splitlines()[:2] == [
        'mind: profiles[0].plugins.score.disabled[0] has no effect: there is no plugin "ImageLocalty": '
        'did you mean "ImageLocality"?',
        'mind: profiles[0].pluginConfig[0] has no effect: there is no plugin "NetworkOverhead"',
    ]


def test_the_default_is_in_the_document_for_programs() -> None:
    shown = json.loads(check("-o", "json").output)
    (profile,) = shown["profiles"]
    assert (profile["schedulerName"], profile["unimplemented"]) == ("muster", [])
    assert {"name": "TaintToleration", "weight": 3} in profile["points"]["score"]
    assert shown["known"]["Coscheduling"] == "muster-scheduler"
    assert shown["cautions"] == []


def test_everything_that_is_wrong_is_reported_a_line_each(file: Path) -> None:
    plugins = {"multiPoint": {"enabled": [{"name": "Nonsense"}, {"name": "Rubbish"}]}}
    file.write_text(yaml.safe_dump({**HEAD, "profiles": [{"schedulerName": "muster", "plugins": plugins}]}))
    shown = check(str(file))
    assert shown.exit_code == 1
    first, second = shown.output.splitlines()
    assert first.startswith(f"{file}: ")
    assert "Nonsense" in first
    assert "Rubbish" in second


BROKEN = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 8
parallelism: 9
podInitialBackoffSeconds: soon
podMaxBackoffSeconds: 0
leaderElection: {leaderElekt: false, leaseDuration: 15}
profiles:
- schedulrName: muster
  percentageOfNodesToScore: 200
  plugins:
    filtr: {enabled: [{name: NodeTier}]}
    score: {enabled: [{name: imagelocality, wieght: 2}]}
    multiPoint: {enabled: [{name: NodeAfinity}]}
  pluginConfig:
  - {name: NodeResourcesFit, args: {scoringStrategy: {type: LeastAlocated}, ignored: 1}}
  - {name: Reservation, args: {afterSecond: 3}}
- schedulerName: 5
extenders:
- {urlPrefix: "http://x", prioritizeVerb: p}
"""
"""Errors that kube-scheduler finds in four different steps, each of which hides those of the next from it."""


def test_errors_of_every_step_are_reported_together_each_with_the_nearest_name_and_none_that_follows(
    file: Path,
) -> None:
    file.write_text(BROKEN)
    shown = check(str(file))
    assert shown.exit_code == 1
    unknown, invalid = "strict decoding error: unknown field", "Invalid value"
    fit = "profiles[0].pluginConfig[0].args"
    assert [line.removeprefix(f"{file}: ") for line in shown.output.splitlines()] == [
        'strict decoding error: yaml: line 5: key "parallelism" already set in map',
        f"leaderElection.leaseDuration: {invalid}: 15: cannot unmarshal number into field of type string",
        f'{unknown} "leaderElection.leaderElekt": did you mean "leaderElect"?',
        f'podInitialBackoffSeconds: {invalid}: "soon": cannot unmarshal string into field of type int64',
        f'{unknown} "profiles[0].plugins.score.enabled[0].wieght": did you mean "weight"?',
        f'{unknown} "profiles[0].plugins.filtr": did you mean "filter"?',
        f'{unknown} "{fit}.ignored"',
        f'{unknown} "profiles[0].schedulrName": did you mean "schedulerName"?',
        f"profiles[1].schedulerName: {invalid}: 5: cannot unmarshal number into field of type string",
        f"profiles[0].percentageOfNodesToScore: {invalid}: 200: not in valid range [0-100]",
        f'{fit}.scoringStrategy.type: Unsupported value: "LeastAlocated": supported values: "LeastAllocated", '
        '"MostAllocated", "RequestedToCapacityRatio": did you mean "LeastAllocated"?',
        f"extenders[0].weight: {invalid}: 0: must have a positive weight applied to it",
        'profiles[0].plugins.score: ScorePlugin "imagelocality" does not exist: did you mean "ImageLocality"?',
        'profiles[0].plugins.multiPoint: PreFilterPlugin "NodeAfinity" does not exist: did you mean "NodeAffinity"?',
        f'{unknown} "profiles[0].pluginConfig[1].args.afterSecond": did you mean "afterSeconds"?',
    ]


def test_run_reports_the_same_errors_a_line_each(file: Path) -> None:
    file.write_text(BROKEN)
    shown = check(str(file)).output.splitlines()
    ran = CliRunner().invoke(main, ["run", "--config", str(file)])
    assert (ran.exit_code, ran.stderr.splitlines()) == (2, [f"Error: {line}" for line in shown])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("profiles: [", "yaml: line 1: did not find expected node content"),
        (b"\xff\xfe\x00", "yaml: the text is not valid UTF-16"),
        (
            "kind: KubeSchedulerConfigration\napiVersion: kubescheduler.config.k8s.io/v1",
            'no kind "KubeSchedulerConfigration" is registered for version "kubescheduler.config.k8s.io/v1": '
            'did you mean "KubeSchedulerConfiguration"?',
        ),
        ("- a", "couldn't get version/kind; json parse error: json: cannot unmarshal array into an object"),
    ],
)
def test_a_text_that_is_no_configuration_is_reported_in_a_line(file: Path, text: str | bytes, error: str) -> None:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    shown = check(str(file))
    assert shown.exit_code == 1
    (line,) = shown.output.splitlines()
    assert line.startswith(f"{file}: {error}")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    shown = check(str(tmp_path / "missing"))
    assert (shown.exit_code, shown.output) == (2, f"Error: {tmp_path}/missing: No such file or directory\n")
