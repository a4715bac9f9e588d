"""The configurations of scheduler_perf: its test cases and their workloads, as the Go module of Kubernetes has them.

A test case is a list of operations with parameters; a workload is a test case with values for them. `operations` makes
of a workload what is played. `scaled` makes one smaller, for machines that the published sizes are too large for.
"""

import math
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane import gomodule
from tests.controlplane.binaries import KUBERNETES_MODULE, KUBERNETES_VERSION

_FOLDER = Path("test", "integration", "scheduler_perf")
_FILE = "performance-config.yaml"
_NESTED = "createPodsOp"

Raw = Mapping[str, Any]
"""An operation as a configuration has it."""


class MissingSourceError(Exception):
    """scheduler_perf is not on this machine; the text says how to get it."""


class UnknownWorkloadError(Exception):
    """A name that no workload has; the text is the name."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload of a test case.

    Attributes:
        topic: the folder of the configuration, such as `affinity` or `dra/devicetaints`.
        case: the name of the test case.
        name: the workload's own name.
        folder: where the paths of templates begin.
        gates: feature gates, those of the workload before those of its test case.
        parameters: the values of the parameters.
        operations: what is played, in this order.
        pod_template: the path of the template of pods that name no other.
        scheduler_config: the scheduler's configuration, if it is not the default one.
    """

    topic: str
    case: str
    name: str
    folder: Path
    gates: Mapping[str, bool]
    parameters: Mapping[str, Any]
    operations: Sequence[Raw]
    pod_template: str | None = None
    scheduler_config: Path | None = None

    @property
    def title(self) -> str:
        """The name that it has within scheduler_perf."""
        return f"{self.case}/{self.name}"


def source() -> Path:
    """The folder of scheduler_perf in the Go module, which Go fetches if need be. Raises `MissingSourceError`."""
    wanted = f"{KUBERNETES_MODULE} v{KUBERNETES_VERSION}"
    if shutil.which("go") is None:
        raise MissingSourceError(f"go is not on the PATH: scheduler_perf is read from the Go module {wanted}")
    try:
        folder = gomodule.fetched(KUBERNETES_MODULE, KUBERNETES_VERSION) / _FOLDER
    except subprocess.CalledProcessError as error:
        raise MissingSourceError(f"go could not fetch {wanted}, which has scheduler_perf") from error
    if not folder.is_dir():
        raise MissingSourceError(f"{wanted} has no folder {_FOLDER}")
    return folder


def read(folder: Path) -> Iterator[Workload]:
    """Every workload of all configurations under a folder, in the order of the files."""
    for path in sorted(folder.rglob(_FILE)):
        topic = path.parent.relative_to(folder).as_posix()
        for case in yaml.safe_load(path.read_text()):
            yield from _workloads(case, topic, path.parent)


def find(workloads: Sequence[Workload], title: str) -> Workload:
    """The workload of this title. Raises `UnknownWorkloadError`."""
    found = next((each for each in workloads if each.title == title), None)
    if found is None:
        raise UnknownWorkloadError(title)
    return found


def scaled(workload: Workload, factor: Fraction) -> Workload:
    """The workload with so much of its nodes, pods, groups and other objects, at least one of each where there is any.

    Parameters that count objects are made smaller; sizes of groups, of batches and of requests stay.
    """
    counts = set(_counting(workload.operations))
    parameters = {
        name: math.ceil(value * factor) if name in counts else value for name, value in workload.parameters.items()
    }
    return replace(workload, parameters=parameters)


def _workloads(case: Mapping[str, Any], topic: str, folder: Path) -> Iterator[Workload]:
    config = case.get("schedulerConfigPath")
    for each in case["workloads"]:
        yield Workload(
            topic=topic,
            case=case["name"],
            name=each["name"],
            folder=folder,
            gates={**case.get("featureGates", {}), **each.get("featureGates", {})},
            parameters=each.get("params", {}),
            operations=case["workloadTemplate"],
            pod_template=case.get("defaultPodTemplatePath"),
            scheduler_config=folder / config if config else None,
        )


def _counting(operations: Sequence[Raw]) -> Iterator[str]:
    """The names of the parameters that say how many objects an operation makes or changes."""
    for operation in operations:
        if name := operation.get("countParam"):
            yield name.removeprefix("$")
        if nested := operation.get(_NESTED):
            yield from _counting([nested])
