"""The direction of imports: the contracts hold for this tree, and each of them notices when it is broken."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("framework", "operator", "plugins", "sandbox", "testing")
LAYERS = "The process knows the plugins, the plugins know the engine"
CATALOG = "The process knows the plugins by their catalog and the contract alone"
ENGINE = "The engine talks to nothing outside"
PLUGINS = "Plugins talk to nothing outside"
SANDBOX = "The sandbox knows nothing of the scheduler"
SANDBOX_OF_OTHERS = "Only the process and tests run a sandbox"
TESTING = "What tests are made of knows nothing of the process"
TESTING_OF_OTHERS = "Only tests use what tests are made of"
PUBLIC = "Muster's plugins import what the plugins of others can"
FAMILIES = "A plugin family knows no other family"
INNER = "Inside the engine each layer knows those below it"
CYCLES = "No module imports one that imports it"
PROCESS = "Inside the process each layer knows those below it"
LAYER_NAMES = (
    *("embedded", "scheduler", "runtime", "queue", "cache", "groups", "authoring"),
    *("contract", "snapshot", "config", "model", "metrics", "work", "error_log"),
)
PROCESS_LAYER_NAMES = (
    *("cli", "commands", "app", "demo", "top", "web", "defrag", "explain", "simulate", "process", "podgroups"),
    *("recording", "leader", "serving", "metrics", "kube", "logs", "versions", "failures"),
)


def lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    """Runs the project's contracts on the packages in `tree/muster`, and on no installed Muster (hence `-S`)."""
    command = [sys.executable, "-S", "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    options = ["--no-cache", f"--config={REPOSITORY / 'pyproject.toml'}"]
    environment = os.environ | {"PYTHONPATH": f"{tree}:{sysconfig.get_path('purelib')}", "COLUMNS": "200"}
    return subprocess.run([*command, *options], cwd=tree, env=environment, capture_output=True, text=True)


def write_tree(tree: Path, modules: Mapping[str, str]) -> None:
    """Writes the least that has every folder, and `modules`: path below `muster/` to content."""
    least = {
        "framework/__init__.py": "",
        **{f"framework/{layer}/__init__.py": "" for layer in LAYER_NAMES},
        **{f"operator/{layer}/__init__.py": "" for layer in PROCESS_LAYER_NAMES},
        "operator/process/settings.py": "import muster.plugins.catalog",
        "plugins/__init__.py": "",
        "plugins/catalog.py": "import muster.framework.config, muster.plugins.ports",
        "plugins/ports/__init__.py": "",
        "sandbox/__init__.py": "",
        "testing/__init__.py": "import muster.plugins.catalog",
        "testing/clock.py": "",
        "sandbox/rules.py": "import muster.framework.model.quantity",
        "framework/model/__init__.py": "",
        "framework/model/quantity.py": "",
        "framework/queue.py": "",
    }
    for path, content in {**least, **modules}.items():
        file = tree / "muster" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)


def test_this_tree_keeps_every_contract(tmp_path: Path) -> None:
    (tmp_path / "muster").mkdir()
    for folder in FOLDERS:
        (tmp_path / "muster" / folder).symlink_to(REPOSITORY / folder)

    result = lint_imports(tmp_path)

    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("path", "content", "contract"),
    [
        ("framework/queue/pods.py", "import muster.plugins", LAYERS),
        ("framework/queue/pods.py", "import muster.operator.cli", LAYERS),
        ("plugins/nodes/__init__.py", "import muster.operator.cli", LAYERS),
        ("operator/explain/__init__.py", "import muster.plugins.ports", CATALOG),
        ("framework/queue/pods.py", "import muster.framework.scheduler", INNER),
        ("framework/model/pods.py", "import muster.framework.config", INNER),
        ("framework/contract/pods.py", "import muster.framework.cache", INNER),
        ("framework/contract/pods.py", "import muster.framework.groups", INNER),
        ("framework/groups/pods.py", "import muster.framework.cache", INNER),
        ("framework/groups/pods.py", "import muster.framework.runtime", INNER),
        ("framework/work/__init__.py", "import muster.framework.model", INNER),
        ("operator/recording/session.py", "import muster.operator.process", PROCESS),
        ("operator/kube/client.py", "import muster.operator.metrics", PROCESS),
        ("operator/simulate/stage.py", "import muster.operator.explain", PROCESS),
        ("operator/extra/__init__.py", "", PROCESS),
        ("framework/queue/pods.py", "import aiohttp", ENGINE),
        ("framework/queue/pods.py", "from kubernetes import client", ENGINE),
        ("framework/queue/pods.py", "import kopf", ENGINE),
        ("framework/queue/pods.py", "import prometheus_client", ENGINE),
        ("plugins/nodes/__init__.py", "import kopf", PLUGINS),
        ("plugins/nodes/__init__.py", "import aiohttp", PLUGINS),
        ("plugins/nodes/__init__.py", "import kubernetes", PLUGINS),
        ("sandbox/server.py", "import muster.framework.queue", SANDBOX),
        ("sandbox/server.py", "import muster.operator.cli", SANDBOX),
        ("sandbox/server.py", "import muster.plugins.ports", SANDBOX),
        ("framework/queue.py", "import muster.sandbox", SANDBOX_OF_OTHERS),
        ("plugins/nodes/__init__.py", "import muster.sandbox", SANDBOX_OF_OTHERS),
        ("testing/engine.py", "import muster.operator.cli", TESTING),
        ("testing/engine.py", "import aiohttp", TESTING),
        ("operator/cli/__init__.py", "import muster.testing", TESTING_OF_OTHERS),
        ("sandbox/server.py", "import muster.testing.clock", TESTING_OF_OTHERS),
        ("plugins/nodes/__init__.py", "import muster.framework.snapshot", PUBLIC),
        ("plugins/nodes/__init__.py", "import muster.framework.runtime", PUBLIC),
        ("plugins/nodes/__init__.py", "import muster.framework.config", PUBLIC),
        ("plugins/nodes/__init__.py", "import muster.plugins.ports", FAMILIES),
        ("plugins/nodes/__init__.py", "import muster.plugins.catalog", FAMILIES),
    ],
)
def test_an_import_against_a_contract_is_found(tmp_path: Path, path: str, content: str, contract: str) -> None:
    write_tree(tmp_path, {path: content})

    result = lint_imports(tmp_path)

    assert result.returncode == 1
    assert [line.startswith(contract) for line in result.stdout.splitlines() if " BROKEN" in line] == [True]


def test_modules_that_import_each_other_are_found(tmp_path: Path) -> None:
    one, other = "import muster.sandbox.other", "import muster.sandbox.one"
    write_tree(tmp_path, {"sandbox/one.py": one, "sandbox/other.py": other})

    result = lint_imports(tmp_path)

    assert result.returncode == 1
    assert [line.startswith(CYCLES) for line in result.stdout.splitlines() if " BROKEN" in line] == [True]
