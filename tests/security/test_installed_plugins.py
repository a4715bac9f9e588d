"""Packages of broken plugins: they have no effect until a profile enables one, and then one line says what is
wrong, whichever command meets it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from muster.sandbox import Sandbox
from muster.sandbox.contents import NodeShape
from tests.builders import make_node, make_pod
from tests.commands.asking import BY_DEFAULT
from tests.sandboxes import served
from tests.security.packages import install

MUSTER = Path(sys.executable).with_name("muster")

PLUGIN = """
from muster.framework.contract import FilterPlugin, Plugin, ReservePlugin, EnqueueExtensions

class {name}({bases}):
    name = "{name}"
{body}
"""


def plugin(name: str, *body: str, bases: str = "FilterPlugin") -> str:
    """The source of a plugin that keeps no node from any pod, but for what `body` says."""
    methods = ["def filter(self, state, pod, nodes):", "    return nodes", *body]
    return PLUGIN.format(name=name, bases=bases, body="\n".join(f"    {line}" for line in methods))


@pytest.fixture(scope="module")
def broken_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one package for each way in which a plugin may be broken before it has done anything."""
    folder = tmp_path_factory.mktemp("packages")
    install(folder, "half-installed", "import torch_that_is_not_here", {"HalfInstalled": "HalfInstalled"})
    install(folder, "leaving", "import sys\nsys.exit('no licence')", {"Leaving": "Leaving"})
    install(folder, "twin-one", plugin("Twin"), {"Twin": "Twin"})
    install(folder, "twin-two", plugin("Twin"), {"Twin": "Twin"})
    install(folder, "renamed", plugin("NewName"), {"OldName": "NewName"})
    failing = "def __init__(self, args, handle):", "    raise RuntimeError('no\\n  database')"
    install(folder, "failing", plugin("Failing", *failing), {"Failing": "Failing"})
    install(
        folder, "unfinished", plugin("Unfinished", bases="FilterPlugin, ReservePlugin"), {"Unfinished": "Unfinished"}
    )
    odd = "def events_to_register(self):", "    return ['Node/Add']"
    install(
        folder,
        "odd-events",
        plugin("OddEvents", *odd, bases="FilterPlugin, EnqueueExtensions"),
        {"OddEvents": "OddEvents"},
    )
    return folder


FAULTS = {
    "HalfInstalled": 'plugin "HalfInstalled" cannot be used: half_installed:HalfInstalled of half-installed cannot be'
    " imported: ModuleNotFoundError: No module named 'torch_that_is_not_here'",
    "Leaving": 'plugin "Leaving" cannot be used: leaving:Leaving of leaving cannot be imported: SystemExit: no licence',
    "Twin": 'plugin "Twin" cannot be used: two packages have one: twin-',
    "OldName": "plugin \"OldName\" cannot be used: renamed:NewName of renamed calls itself 'NewName'",
    "NewName": 'profiles[0].plugins.multiPoint: PreFilterPlugin "NewName" does not exist',
    "Failing": 'profile "muster": plugin "Failing" failed in __init__: RuntimeError: no database',
    "Unfinished": 'profile "muster": plugin "Unfinished" failed in __init__: TypeError: Can\'t instantiate abstract'
    " class Unfinished with abstract methods reserve, unreserve",
    "OddEvents": 'profile "muster": plugin "OddEvents" failed in events_to_register: TypeError: it answered something'
    " besides EventRegistration",
}
"""What is said of a plugin that a profile enables."""


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Credentials for an embedded cluster with a pod that waits."""
    sandbox = Sandbox(stand_ins=False)
    sandbox.nodes(1, shape=NodeShape(cpu="1"))
    pod = {"apiVersion": "v1", "kind": "Pod", **make_pod("web")}
    with served(sandbox, [pod], tmp_path_factory.mktemp("cluster")) as path:
        yield path


def configuration(folder: Path, enabled: str) -> Path:
    """A file whose only profile enables this plugin, beside the defaults."""
    path = folder / "config.yaml"
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": "muster", "plugins": {"multiPoint": {"enabled": [{"name": enabled}]}}}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


def run(packages: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A command of Muster's with these packages installed beside it, until it ends."""
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    command = [str(MUSTER), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def commands(kubeconfig: Path, folder: Path) -> dict[str, list[str | Path]]:
    """Every command that decides, asked about one pod."""
    manifest = folder / "pod.json"
    manifest.write_text(json.dumps(make_pod("other")))
    cluster: list[str | Path] = ["--kubeconfig", kubeconfig]
    return {
        "run": ["run", *cluster, "--bind-address=127.0.0.1", "--secure-port=0"],
        "explain": ["explain", "web", "-n", "default", *cluster],
        "why": ["why", "pod/web", "-n", "default", *cluster],
        "simulate": ["simulate", "-f", manifest, *cluster],
    }


@pytest.mark.parametrize("command", ["explain", "why", "simulate"])
def test_broken_packages_that_no_profile_enables_change_nothing(
    broken_packages: Path, kubeconfig: Path, tmp_path: Path, command: str
) -> None:
    ended = run(broken_packages, *commands(kubeconfig, tmp_path)[command])
    assert (ended.returncode, ended.stderr) == (0, BY_DEFAULT)


@pytest.mark.parametrize("command", ["run", "explain", "why", "simulate"])
@pytest.mark.parametrize("name", ["HalfInstalled", "Failing"])
def test_each_command_ends_with_one_line_about_a_plugin_that_cannot_be_loaded_or_made(
    broken_packages: Path, kubeconfig: Path, tmp_path: Path, command: str, name: str
) -> None:
    config = configuration(tmp_path, name)
    ended = run(broken_packages, *commands(kubeconfig, tmp_path)[command], "--config", config)
    reported = [line for line in ended.stderr.splitlines() if not line.startswith("W")]
    place = f"{config}: " if name == "HalfInstalled" else ""
    assert (ended.returncode, reported) == (2, [f"Error: {place}{FAULTS[name]}"])


@pytest.mark.parametrize("name", FAULTS)
def test_a_recorded_case_that_enables_a_broken_plugin_ends_with_one_line(
    broken_packages: Path, tmp_path: Path, name: str
) -> None:
    config = yaml.safe_load(configuration(tmp_path, name).read_text())
    case = {"id": "one", "objects": [make_node("node")], "pod": make_pod("web"), "config": config}
    cases = tmp_path / "cases"
    cases.write_text(json.dumps(case))
    ended = run(broken_packages, "explain", "--batch", cases)
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"Error: {FAULTS[name]}")


def test_a_package_that_takes_the_name_of_a_plugin_in_the_tree_is_reported_when_that_is_enabled(
    tmp_path: Path, kubeconfig: Path
) -> None:
    install(tmp_path, "shadowing", plugin("NodeName"), {"NodeName": "NodeName"})
    ended = run(tmp_path, *commands(kubeconfig, tmp_path)["explain"])
    assert (ended.returncode, ended.stderr) == (
        2,
        'Error: plugin "NodeName" cannot be used: two packages have one: muster-scheduler and shadowing\n',
    )
