"""Every alert fires when it should and not before, as Prometheus' own tool evaluates it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.debian import program
from tests.deploy.helm import Helm, pick

Rules = dict[str, Any]
CASES = yaml.safe_load((Path(__file__).parent / "data" / "alerts.yaml").read_text())
RELEASE = 'namespace="muster-system",job="muster"'


@pytest.fixture(scope="module")
def groups(helm: Helm) -> list[Rules]:
    """The groups of rules that the chart installs."""
    manifests = helm.template({"prometheusRule": {"enabled": True}})
    found: list[Rules] = pick(manifests, "PrometheusRule/muster")["spec"]["groups"]
    return found


def promtool(folder: Path, *words: str) -> None:
    """Runs it, and fails with what it says."""
    command = [program("promtool", target="promtool"), *words]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def of_the_release(series: str) -> str:
    """The series with what Prometheus adds when it scrapes the release."""
    return series.replace("{", f"{{{RELEASE},", 1)


def test_prometheus_takes_the_rules(groups: list[Rules], tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))
    promtool(tmp_path, "check", "rules", "rules.yaml")


def test_every_alert_has_a_case(groups: list[Rules]) -> None:
    assert [case["alert"] for case in CASES] == [rule["alert"] for group in groups for rule in group["rules"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["alert"]))
def test_an_alert_fires_in_time_and_not_before(groups: list[Rules], tmp_path: Path, case: dict[str, Any]) -> None:
    [rule] = [rule for group in groups for rule in group["rules"] if rule["alert"] == case["alert"]]
    bare = {name: value for name, value in rule.items() if name != "annotations"}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": [bare]}]}))
    fired = {"exp_labels": {**rule["labels"], **case.get("labels", {})}}
    test = {
        "interval": "1m",
        "input_series": [{"series": of_the_release(name), "values": values} for name, values in case["series"].items()],
        "alert_rule_test": [
            {"alertname": case["alert"], "eval_time": case["quiet"], "exp_alerts": []},
            {"alertname": case["alert"], "eval_time": case["fires"], "exp_alerts": [fired]},
        ],
    }
    (tmp_path / "test.yaml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [test]})
    )
    promtool(tmp_path, "test", "rules", "test.yaml")
