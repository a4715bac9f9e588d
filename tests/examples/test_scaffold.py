"""`muster plugin new`: the package that it writes is installed, tests itself and decides in the sandbox."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import yaml
from click.testing import CliRunner, Result

from muster.operator.cli import main
from muster.sandbox import Sandbox
from tests.commands.asking import MUSTER
from tests.sandboxes import served

POINTS = [[], ["--extends", "filter"], ["--extends", "score"]]
_PATIENCE_SECONDS = 120.0


def new(*words: str) -> Result:
    return CliRunner().invoke(main, ["plugin", "new", *words])


@pytest.mark.parametrize("points", POINTS, ids=["both", "filter", "score"])
def test_the_package_tests_itself_before_it_is_installed(points: list[str], tmp_path: Path) -> None:
    assert new("NodeTier", *points, "--directory", str(tmp_path)).exit_code == 0
    assert python(tmp_path, {}, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio")


def test_the_package_is_installed_without_its_tests_found_and_decides_in_the_sandbox(tmp_path: Path) -> None:
    package, target = tmp_path / "muster-node-tier", tmp_path / "installed"
    assert new("NodeTier", "--directory", str(package)).exit_code == 0
    options = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation"]
    python(tmp_path, {}, "-m", "pip", "install", *options, "--target", str(target), str(package))
    assert sorted(path.name for path in target.glob("*") if path.suffix != ".dist-info") == ["muster_node_tier"]
    found = {"PYTHONPATH": os.pathsep.join(filter(None, (str(target), absolute_path())))}

    checked = run([str(MUSTER), "config", "check", "config.yaml", "-o", "json"], package, found)
    plugins = {point: names(entries) for point, entries in json.loads(checked)["profiles"][0]["points"].items()}
    assert "NodeTier" in plugins["filter"]
    assert "NodeTier" in plugins["score"]

    label = re.findall(r"kubectl label node (\S+) (\S+)=(\S+)", (package / "README.md").read_text())
    [(node, key, value)] = label
    sandbox = Sandbox()
    assert node in sandbox.nodes(3)
    pod = yaml.safe_load((package / "pod.yaml").read_text())
    with served(sandbox, [], tmp_path) as kubeconfig:
        api = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        ask(api, f"/api/v1/nodes/{node}", "PATCH", {"metadata": {"labels": {key: value}}})
        options = ["--config", "config.yaml", "--kubeconfig", str(kubeconfig), "--secure-port", "0"]
        with subprocess.Popen([str(MUSTER), "run", *options], cwd=package, env=os.environ | found) as muster:
            try:
                ask(api, "/api/v1/namespaces/default/pods", "POST", pod)
                assert node_of(api, "web") == node
            finally:
                muster.kill()


def test_the_command_says_how_to_install_test_and_try_the_package(tmp_path: Path) -> None:
    package = tmp_path / "muster-node-tier"
    told = new("NodeTier", "--extends", "filter", "--directory", str(package)).stdout
    commands = [line.strip() for line in told.splitlines() if line.startswith("  ")]
    assert commands[0] == f"cd {package}"
    assert commands[-1] == (
        "KUBECONFIG=kubeconfig kubectl label node node-2 example.com/node-tier=never"
        " && KUBECONFIG=kubeconfig kubectl apply -f pod.yaml"
    )
    readme = (package / "README.md").read_text()
    assert [command for command in commands[1:] if command not in readme] == []


def test_the_label_stands_in_the_module_once(tmp_path: Path) -> None:
    new("NodeTier", "--directory", str(tmp_path))
    [module] = (tmp_path / "src").glob("*/__init__.py")
    _, _, code = module.read_text().partition("\nfrom ")
    assert code.count("example.com/node-tier") == 1


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("nodeTier", 'Error: "nodeTier" is no name for a plugin: it begins with a capital and has only letters'),
        ("Node-Tier", 'Error: "Node-Tier" is no name for a plugin: '),
        ("NodeAffinity", 'Error: muster-scheduler has a plugin "NodeAffinity" already'),
    ],
)
def test_a_name_that_cannot_be_is_refused(name: str, reported: str, tmp_path: Path) -> None:
    written = new(name, "--directory", str(tmp_path / "package"))
    assert (written.exit_code, written.stderr.startswith(reported)) == (2, True), written.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_which_there_is_something_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    written = new("NodeTier", "--directory", str(tmp_path))
    assert (written.exit_code, written.stderr) == (2, f"Error: {tmp_path}: is not empty\n")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("name", "package"), [("NodeTier", "muster-node-tier"), ("GPUFirst", "muster-gpu-first"), ("Tier2", "muster-tier2")]
)
def test_the_package_is_named_after_the_plugin_and_written_here(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert new(name).output.startswith(f"wrote {package}\n")
    assert (tmp_path / package / "src" / package.replace("-", "_") / "__init__.py").is_file()


def names(entries: Sequence[dict[str, object]]) -> list[object]:
    return [entry["name"] for entry in entries]


def absolute_path() -> str:
    """PYTHONPATH as it is, for a program in another folder."""
    return os.pathsep.join(os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each)


def python(folder: Path, environment: dict[str, str], *words: str) -> str:
    return run([sys.executable, *words], folder, {"PYTHONPATH": absolute_path()} | environment)


def run(command: Sequence[str], folder: Path, environment: dict[str, str]) -> str:
    """The output of a command that has to end well."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=_PATIENCE_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ask(api: str, path: str, method: str, body: object = None) -> dict[str, object]:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(api + path, data, {"Content-Type": kind}, method=method), timeout=_PATIENCE_SECONDS) as answer:
        found: dict[str, object] = json.load(answer)
    return found


def node_of(api: str, pod: str) -> object:
    """The node of the pod, once it has one."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        spec = ask(api, f"/api/v1/namespaces/default/pods/{pod}", "GET")["spec"]
        assert isinstance(spec, dict)
        if "nodeName" in spec:
            return spec["nodeName"]
        assert time.monotonic() < until, "the pod has no node"
        time.sleep(0.1)
