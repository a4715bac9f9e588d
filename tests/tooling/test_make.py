"""The commands of the Makefile that nothing else runs."""

import os
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def recipe(target: str, *options: str) -> list[str]:
    """The commands that make would run; with `--always-make` those of a fresh clone."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--dry-run", "--no-print-directory", *options, target]
    ran = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


def test_make_simulate_all_keeps_what_took_part_in_ten_thousand_seeds() -> None:
    kept = "-m bench record simulation -- -m muster.testing.simulation --output json --journal $journal 0-9999;"
    assert kept in " ".join(recipe("simulate-all"))


def test_make_demo_installs_what_muster_needs_to_run_says_so_first_and_runs_the_demo() -> None:
    *_, said, installs, _, runs = recipe("demo", "--always-make")
    assert said.startswith('echo "Installing Muster and the packages that it needs into .venv')
    assert installs.startswith(".venv/bin/python -m pip install --quiet ")
    assert installs.endswith(" -c constraints.txt -e .")
    assert runs == ".venv/bin/muster demo"


def test_make_venv_adds_the_tools_to_what_make_demo_has_installed(tmp_path: Path) -> None:
    (tmp_path / ".runnable").touch()
    assert recipe("demo", f"VENV={tmp_path}") == [f"{tmp_path}/bin/muster demo"]
    [installs] = [command for command in recipe("venv", f"VENV={tmp_path}") if "pip install" in command]
    assert installs.startswith(f"{tmp_path}/bin/python ")
    assert installs.endswith(" -e '.[test,lint]'")


def test_make_demo_installs_nothing_after_make_venv(tmp_path: Path) -> None:
    [stamps] = [command for command in recipe("venv", f"VENV={tmp_path}") if command.startswith("touch ")]
    subprocess.run(stamps, shell=True, check=True)
    assert recipe("demo", f"VENV={tmp_path}") == [f"{tmp_path}/bin/muster demo"]


def test_make_e2e_builds_kubernetes_tests_and_runs_them() -> None:
    assert recipe("e2e", "E2E_ARGS=--focus gang")[-2:] == [
        ".venv/bin/python -m tests.controlplane.build e2e-tests",
        ".venv/bin/python -m tests.conformance --focus gang",
    ]


def test_the_list_of_commands_names_each_of_them() -> None:
    listed = subprocess.run(["make", "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout

    assert {"help", "e2e", "nightly", "bench-all"} <= {line.split()[0] for line in listed.splitlines()}
