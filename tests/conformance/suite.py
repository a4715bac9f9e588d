"""The tests: which of Kubernetes' own are run, and one run of them, from the start of their program to its end.

A test belongs here if a scheduler can fail it and no container has to do anything for it. Ginkgo chooses by regular
expressions over the whole name of a test, with its labels. The program (`suite.go`) is built as the control plane is,
and reports each test as soon as it has ended.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conformance import report
from tests.conformance.cluster import NODES
from tests.conformance.report import Outcome
from tests.controlplane.binaries import E2E_TESTS, locate
from tests.controlplane.guard import Guard
from tests.controlplane.plane import ControlPlane
from tests.controlplane.server import Server

FOCUS = (r"\[sig-scheduling\]", r"\[sig-node\] \[DRA\] control plane", r"\[sig-apps\] Daemon set")
LEFT_OUT: Mapping[str, str] = {
    r"\[sig-scheduling\] (LimitRange|Workload)\b|PriorityClass endpoints": "asks the API server alone",
    r"\[DRA\] .*(admin access|ResourceQuota|permission checks|ServiceAccount)": "asks the API server alone",
    r"Daemon set .*(collection|status)": "asks the API server alone",
    r"Daemon set .*(surge|rollback)": "needs a container, or an image that cannot be pulled",
    r"\[Alpha\]": "needs a feature that is alpha, and off in every cluster that does not ask for it",
}
"""What of the focus is left out, with its reason."""
SEED = 1
"""Of the order, so that both sides and every run have the same."""

_REPORTS = "outcomes.jsonl"
_TIMEOUT = "2h"
_LAST_LINES = 40


@dataclass(frozen=True, slots=True)
class Selection:
    """Tests by regular expressions, in the order of a seed: all of `focus` but those of `skip`."""

    focus: Sequence[str] = FOCUS
    skip: Sequence[str] = tuple(LEFT_OUT)
    seed: int = SEED

    def arguments(self) -> list[str]:
        """How Ginkgo is told."""
        return [
            *(f"--ginkgo.focus={each}" for each in self.focus),
            *(f"--ginkgo.skip={each}" for each in self.skip),
            f"--ginkgo.seed={self.seed}",
        ]


class SuiteError(RuntimeError):
    """The tests ended otherwise than their outcomes say; the text closes with the end of their log."""


class Suite:
    """The program, which runs from the moment that this is made."""

    def __init__(self, command: Sequence[str], *, reports: Path, log: Path, guard: Guard) -> None:
        reports.touch()
        self._server = Server(command, log=log, guard=guard)
        self._log = log
        self._reports = reports
        self._read = 0

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._server.is_running

    def news(self) -> list[Outcome]:
        """The outcomes of tests that have ended since this was asked last, in their order."""
        with self._reports.open("rb") as file:
            file.seek(self._read)
            *lines, _ = file.read().split(b"\n")
        self._read += sum(len(line) + 1 for line in lines)
        return [found for line in lines if (found := report.read(line)) is not None]

    def verify(self, outcomes: Sequence[Outcome]) -> None:
        """Raise `SuiteError` unless there are outcomes, and they account for how it ended."""
        code = self._server.exit_code
        if outcomes and (code != 0) == any(each.has_failed for each in outcomes):
            return
        lines = self._log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        raise SuiteError("\n".join([f"the tests ended with exit code {code} after {len(outcomes)} of them", *lines]))

    def stop(self) -> None:
        """End it; without effect when it has ended."""
        self._server.stop()


@contextmanager
def started(plane: ControlPlane, selection: Selection) -> Iterator[Suite]:
    """The selected tests on a control plane, ended with the block at the latest.

    Raises `MissingBinaryError` where they are not built.
    """
    reports = plane.files.folder / _REPORTS
    command = [
        str(locate(E2E_TESTS.name)),
        f"--kubeconfig={plane.kubeconfig()}",
        f"--num-nodes={len(NODES)}",
        f"--outcomes={reports}",
        f"--kubelet-root-dir={plane.files.folder}",
        "--provider=skeleton",
        "--ginkgo.v",
        "--ginkgo.no-color",
        f"--ginkgo.timeout={_TIMEOUT}",
        *selection.arguments(),
    ]
    with closing(Guard()) as guard:
        suite = Suite(command, reports=reports, log=plane.files.log(E2E_TESTS.name), guard=guard)
        try:
            yield suite
        finally:
            suite.stop()
