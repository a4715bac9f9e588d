"""Workloads are read with what their test cases give them, and are made smaller in what they count alone."""

import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from bench.scheduler_perf.configuration import (
    MissingSourceError,
    UnknownWorkloadError,
    Workload,
    find,
    read,
    scaled,
    source,
)

TEXT = """
- name: Pods
  featureGates: {GenericWorkload: true, SchedulerAsyncAPICalls: false}
  defaultPodTemplatePath: ../pod.yaml
  schedulerConfigPath: scheduler.yaml
  workloadTemplate:
  - opcode: createNodes
    countParam: $nodes
  workloads:
  - name: small
    params: {nodes: 5}
  - name: large
    featureGates: {SchedulerAsyncAPICalls: true}
    params: {nodes: 5000}
"""


def test_a_workload_has_the_gates_of_its_test_case_and_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "dra" / "taints"
    folder.mkdir(parents=True)
    (folder / "performance-config.yaml").write_text(TEXT)

    small, large = read(tmp_path)

    assert (small.topic, small.title, large.title) == ("dra/taints", "Pods/small", "Pods/large")
    assert small.gates == {"GenericWorkload": True, "SchedulerAsyncAPICalls": False}
    assert large.gates == {"GenericWorkload": True, "SchedulerAsyncAPICalls": True}
    assert small.pod_template == "../pod.yaml"
    assert small.scheduler_config == folder / "scheduler.yaml"
    assert large.parameters == {"nodes": 5000}


def test_a_workload_is_found_by_its_title(workload: Workload) -> None:
    assert find([replace(workload, name="other"), workload], "Case/small") is workload
    with pytest.raises(UnknownWorkloadError, match="Case/large"):
        find([workload], "Case/large")


def test_counts_are_scaled_and_rounded_up_and_sizes_stay(workload: Workload) -> None:
    operations: list[dict[str, object]] = [
        {"opcode": "createNodes", "countParam": "$nodes"},
        {"opcode": "createPods", "countParam": "$groups", "countMultiplierParam": "$size"},
        {"opcode": "createPodSets", "countParam": "$spaces", "createPodsOp": {"countParam": "$each"}},
    ]
    parameters = {"nodes": 1000, "groups": 3, "size": 1000, "spaces": 0, "each": 40, "selectors": None}

    small = scaled(replace(workload, operations=operations, parameters=parameters), Fraction(1, 5))

    assert small.parameters == {"nodes": 200, "groups": 1, "size": 1000, "spaces": 0, "each": 8, "selectors": None}


def test_without_go_it_is_said_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingSourceError, match="go is not on the PATH: scheduler_perf is read from the Go module"):
        source()


def test_a_module_that_go_cannot_fetch_is_said_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(module: str, version: str) -> Path:
        raise subprocess.CalledProcessError(1, ["go"])

    monkeypatch.setattr("tests.controlplane.gomodule.fetched", refused)
    with pytest.raises(MissingSourceError, match=r"go could not fetch k8s.io/kubernetes v1\.37"):
        source()


def test_a_module_without_scheduler_perf_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.controlplane.gomodule.fetched", lambda module, version: tmp_path)
    with pytest.raises(MissingSourceError, match="has no folder test/integration/scheduler_perf"):
        source()


def test_titles_of_workloads_are_unique(workloads: list[Workload]) -> None:
    titles = [each.title for each in workloads]
    assert len(titles) == len(set(titles)) > 100
