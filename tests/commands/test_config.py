"""`muster config check`: what a file comes to, and what is wrong with it."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from muster.operator.cli import main

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def check(*words: str) -> Result:
    return CliRunner().invoke(main, ["config", "check", *words])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def test_a_profile_is_told_with_its_plugins_in_calling_order_weights_and_arguments(file: Path) -> None:
    plugins = {"multiPoint": {"enabled": [{"name": "Coscheduling"}, {"name": "ImageLocality", "weight": 7}]}}
    plugins["multiPoint"]["disabled"] = [{"name": "PrioritySort"}]
    args = [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}]
    profile = {"schedulerName": "gpu", "plugins": plugins, "pluginConfig": args, "percentageOfNodesToScore": 30}
    file.write_text(yaml.safe_dump({**HEAD, "profiles": [profile]}))
    told = check(str(file))
    assert told.exit_code == 0, told.output
    lines = told.output.splitlines()
    assert lines[0] == "profile gpu, which scores 30 % of nodes"
    (score,) = [line for line in lines if line.startswith("score ")]
    assert "ImageLocality*7" in score
    assert any(line.startswith("Coscheduling ") and "permitWaitingTimeSeconds=10" in line for line in lines)
    assert any(line.split() == ["TaintToleration", "muster-scheduler"] for line in lines)
    assert lines[-1] == "nothing is wrong"


def test_the_default_is_told_to_programs() -> None:
    told = json.loads(check("-o", "json").output)
    (profile,) = told["profiles"]
    assert (profile["schedulerName"], profile["unimplemented"]) == ("muster", [])
    assert {"name": "TaintToleration", "weight": 3} in profile["points"]["score"]
    assert told["known"]["Coscheduling"] == "muster-scheduler"
    assert told["cautions"] == []


def test_everything_that_is_wrong_is_told_a_line_each(file: Path) -> None:
    plugins = {"multiPoint": {"enabled": [{"name": "Nonsense"}, {"name": "Rubbish"}]}}
    file.write_text(yaml.safe_dump({**HEAD, "profiles": [{"schedulerName": "muster", "plugins": plugins}]}))
    told = check(str(file))
    assert told.exit_code == 2
    first, second = told.output.splitlines()
    assert first.startswith(f"{file}: ")
    assert "Nonsense" in first
    assert "Rubbish" in second


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    told = check(str(tmp_path / "missing"))
    assert (told.exit_code, told.output) == (2, f"Error: {tmp_path}/missing: No such file or directory\n")
