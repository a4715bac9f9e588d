"""The choice of tests, and their program with a stand-in for it."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.conformance.report import Outcome
from tests.conformance.suite import FOCUS, LEFT_OUT, Selection, Suite, SuiteError, started
from tests.conformance.test_report import line
from tests.controlplane.guard import Guard
from tests.controlplane.plane import ControlPlane
from tests.e2e.eventually import eventually


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("[sig-scheduling] SchedulerPredicates validates resource limits of pods [Conformance] [Serial]", True),
        ("[sig-scheduling] GangScheduling [FeatureGate:GenericWorkload] should schedule pods only when", True),
        ("[sig-scheduling] WorkloadAwarePreemption [FeatureGate:GenericWorkload] workload-aware preemption", True),
        ("[sig-scheduling] Workload [FeatureGate:GenericWorkload] CRUD Tests Workload API availability", False),
        ("[sig-scheduling] LimitRange should list, patch and delete a LimitRange by collection", False),
        ("[sig-scheduling] SchedulerPreemption PriorityClass endpoints verify [Conformance] [Serial]", False),
        ("[sig-node] [DRA] control plane supports reusing resources", True),
        ("[sig-node] [DRA] control plane validate ResourceClaimTemplate and ResourceClaim for admin access", False),
        ("[sig-node] [DRA] control plane [FeatureGate:DRAResourcePoolStatus] should report [Alpha]", False),
        ("[sig-node] [DRA] kubelet [Feature:DynamicResourceAllocation] registers plugin", False),
        ("[sig-apps] Daemon set should run and stop simple daemon [Conformance] [Serial]", True),
        ("[sig-apps] Daemon set should surge pods onto nodes when spec was updated [Serial]", False),
        ("[sig-apps] Daemon set should rollback without unnecessary restarts [Conformance] [Serial]", False),
        ("[sig-apps] Daemon set should verify changes to a daemon set status [Conformance] [Serial]", False),
        ("[sig-apps] Job should run a job to completion when tasks succeed", False),
    ],
)
def test_tests_are_chosen_that_a_scheduler_can_fail_and_that_need_no_container(name: str, chosen: bool) -> None:
    focused, skipped = ([each for each in some if re.search(each, name)] for some in (FOCUS, LEFT_OUT))

    assert bool(focused and not skipped) == chosen


def test_ginkgo_is_told_each_expression_and_the_order() -> None:
    assert Selection(["gang", "spread"], ["slow"], seed=7).arguments() == [
        "--ginkgo.focus=gang",
        "--ginkgo.focus=spread",
        "--ginkgo.skip=slow",
        "--ginkgo.seed=7",
    ]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], Suite]]:
    """Starts a program that is given as a script of the shell and reports to the file `reports` in its folder."""
    suites: list[Suite] = []
    with closing(Guard()) as guard:

        def run(script: str) -> Suite:
            folder = tmp_path / str(len(suites))
            folder.mkdir()
            command = ["sh", "-c", f"cd {folder}; {script}"]
            suite = Suite(command, reports=folder / "reports", log=folder / "log", guard=guard)
            suites.append(suite)
            return suite

        yield run
        for suite in suites:
            suite.stop()


def report(state: str, message: str | None = None) -> str:
    """A command that reports a test."""
    return f"echo '{line(state, message=message).decode()}' >>reports"


def all_of(suite: Suite) -> list[Outcome]:
    eventually(lambda: not suite.is_running)
    return suite.news()


def test_outcomes_come_as_soon_as_their_lines_are_whole_and_each_once(start: Callable[[str], Suite]) -> None:
    suite = start(f"{report('passed')}; printf '{{\"LeafNodeType\"' >>reports; sleep 1000")

    [first] = eventually(suite.news)

    assert first.has_passed
    assert (suite.news(), suite.is_running) == ([], True)


def test_a_run_is_right_whose_exit_code_agrees_with_its_outcomes(start: Callable[[str], Suite]) -> None:
    passed = start(f"{report('passed')}; {report('skipped', 'unfit')}")
    passed.verify(all_of(passed))

    failed = start(f"{report('failed', 'why')}; exit 1")
    failed.verify(all_of(failed))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo no such cluster; exit 1", "exit code 1 after 0 of them\nno such cluster"),
        ("true", "exit code 0 after 0 of them"),
        (f"{report('passed')}; kill -9 $$", "exit code -9 after 1 of them"),
    ],
)
def test_a_run_is_wrong_that_ended_otherwise_than_its_outcomes_say(
    start: Callable[[str], Suite], script: str, said: str
) -> None:
    suite = start(script)

    with pytest.raises(SuiteError, match=said):
        suite.verify(all_of(suite))


def test_the_program_knows_its_cluster_and_ends_with_the_block_however_that_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, told = tmp_path / "e2e-tests", tmp_path / "told"
    program.write_text(f'#!/bin/sh\necho $$ "$@" >{told}.partial; mv {told}.partial {told}; exec sleep 1000\n')
    program.chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    plane = ControlPlane(tmp_path)

    def interrupted() -> None:
        with started(plane, Selection(["gang"])):
            eventually(told.exists)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    pid, *arguments = told.read_text().split()
    assert {f"--kubeconfig={plane.kubeconfig()}", "--num-nodes=3", "--ginkgo.focus=gang"} <= {*arguments}
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)
