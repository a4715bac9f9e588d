"""Alerts and dashboard: that they ask for series that Muster serves, and say what people need to know."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest

from muster.framework.metrics import SchedulerMetrics
from muster.operator.metrics import ProcessMetrics, State, StateMetrics, registry_of
from tests.deploy.helm import CHART, Helm, pick

DASHBOARD = json.loads((CHART / "files" / "dashboard.json").read_text())
PANELS: list[dict[str, Any]] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
ON = {"prometheusRule": {"enabled": True}}
# What Prometheus adds to a scrape, and what its client library adds to a process.
NOT_OURS = {"up", "process_cpu_seconds_total", "process_resident_memory_bytes"}
_SERIES = re.compile(r"([a-z_]+)\{([^}]*)\}")


def served() -> dict[str, set[str]]:
    """The labels of every family that Muster can serve, by the names of its series."""
    metrics, process = SchedulerMetrics(), ProcessMetrics("api", {"major": "1"})
    state = State(
        pending_pods=lambda: {"active": 1},
        queued_entities=lambda: {("active", "podgroup"): 1},
        cache_size=lambda: {"nodes": 1},
        leading=lambda: {"muster": True},
        reserved_shares=lambda: {"cpu": 0.5},
        quotas=lambda: {("ml/quota", "cpu", "used"): 1.0},
        unmet_quotas=lambda: {"ml/quota": 1},
    )
    labels: dict[str, set[str]] = {}
    exercise(metrics)
    process.written("POST", "events")
    for family in registry_of(metrics, StateMetrics(state), process).collect():
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    return labels


def exercise(metrics: SchedulerMetrics) -> None:
    """Gives every family with labels a series."""
    metrics.pod_attempted("scheduled", profile="p", seconds=1)
    metrics.group_attempted("scheduled", profile="p", seconds=1)
    metrics.extension_point_duration.observe(("Bind", "Success", "p"), 1)
    metrics.plugin_execution_duration.observe(("a", "Filter", "Success"), 1)
    metrics.pod_bound(attempts=1, sli_seconds=1, after_flush=False)
    metrics.permit_wait_duration.observe(("Unschedulable",), 1)
    metrics.queue_incoming("active", "e", entity="pod", pods=1)
    metrics.unschedulable_pods.add(("a", "p"), 1)
    metrics.quorum_bound(1, members=8)


def selectors(expression: str) -> Iterator[tuple[str, set[str]]]:
    """The series that an expression asks for, each with the labels that it is selected by."""
    for name, matchers in _SERIES.findall(expression):
        yield name, set(re.findall(r"(\w+)=", matchers))


def grouped(expression: str) -> set[str]:
    """The labels that an expression sums over."""
    return {label.strip() for labels in re.findall(r"by \(([^)]*)\)", expression) for label in labels.split(",")}


def rules(helm: Helm, values: Mapping[str, Any] = {}) -> dict[str, dict[str, Any]]:
    """The alerts by their names."""
    [group] = pick(helm.template(ON | dict(values)), "PrometheusRule/muster")["spec"]["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def check(expression: str) -> None:
    """Fails where an expression asks for a series or label that does not exist."""
    known = served() | {name: set() for name in NOT_OURS}
    asked = dict(selectors(expression))
    assert asked
    assert asked.keys() <= known.keys()
    for name, labels in asked.items():
        assert {"namespace", "job"} <= labels
        assert labels - {"namespace", "job"} <= known[name]
    assert grouped(expression) <= set().union(*(known[name] for name in asked))


def test_alerts_ask_for_series_that_are_served(helm: Helm) -> None:
    for rule in rules(helm).values():
        check(rule["expr"])


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: str(panel["title"]))
def test_a_panel_asks_for_series_that_are_served(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        check(target["expr"])
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= grouped(target["expr"]) | {"pod"}


def test_alerts_concern_this_release_alone(helm: Helm) -> None:
    asked = [series for rule in rules(helm).values() for series in re.findall(r"\{([^}]*)\}", rule["expr"])]
    assert asked
    assert all(series.startswith('namespace="muster-system",job="muster"') for series in asked)


def test_every_alert_says_how_bad_it_is_and_what_to_do(helm: Helm) -> None:
    for rule in rules(helm).values():
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"].endswith(".")
        assert len(rule["annotations"]["description"]) > len(rule["annotations"]["summary"])
        assert rule["for"]


def test_the_readme_explains_every_alert(helm: Helm) -> None:
    readme = (CHART / "README.md").read_text()
    assert re.findall(r"^\| (Muster\w+) \|", readme, re.MULTILINE) == list(rules(helm))


def test_without_an_election_no_leader_is_missed(helm: Helm) -> None:
    alone = rules(helm, {"scheduler": {"replicaCount": 1, "leaderElect": False}})
    assert rules(helm).keys() - alone.keys() == {"MusterHasNoLeader"}
    assert not [rule for rule in alone.values() if "leader_election" in rule["expr"]]


def test_panels_have_a_place_of_their_own_and_say_what_they_show() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    places = sorted((panel["gridPos"]["y"], panel["gridPos"]["x"], panel["gridPos"]["w"]) for panel in PANELS)
    assert all(x + width <= next_x for (y, x, width), (next_y, next_x, _) in pairwise(places) if y == next_y)
    assert all(x + width <= 24 for _, x, width in places)
    for panel in PANELS:
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]


def test_the_dashboard_is_found_by_the_sidecar_and_arrives_as_it_is(helm: Helm) -> None:
    config = pick(helm.template({"grafanaDashboard": {"enabled": True}}), "ConfigMap/muster-dashboard")
    assert config["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(config["data"]["muster.json"]) == DASHBOARD
