"""A foreign plugin's groups in the commands: what `groups`, `why` and `simulate` say of them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.operator.cli import complete_for_kubectl
from muster.sandbox import NodeShape, Sandbox
from tests.commands.asking import ask
from tests.sandboxes import served

from .objects import DEFINITION, players, team

LACKING = "team default/alpha: 2 of the 3 that it lacks fit: 0/1 nodes are available: 1 Insufficient cpu."


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """A cluster with capacity for two of the three pods of a team, which waits, and without a scheduler."""
    sandbox = Sandbox([DEFINITION], stand_ins=False)
    sandbox.nodes(1, shape=NodeShape(cpu="2"))
    alpha = team("alpha", 3, phase="Benched", message="nobody has looked yet")
    sandbox.load([alpha, *players("alpha", 3)])
    with served(sandbox, [], tmp_path) as path:
        yield path


def test_teams_are_listed_among_the_groups(kubeconfig: Path) -> None:
    head, row = ask("groups", "--kubeconfig", str(kubeconfig), "-o", "wide").stdout.splitlines()
    cells = dict(zip(head.split(), row.split(), strict=False))
    assert (cells["NAME"], cells["PHASE"], cells["MINMEMBER"], cells["PLACE"]) == ("alpha", "Benched", "3", "1")
    assert row.endswith("nobody has looked yet")
    assert ask("groups", "--kubeconfig", str(kubeconfig), "-o", "name").stdout == "team.example.com/alpha\n"


@pytest.mark.parametrize("word", ["alpha", "team/alpha", "tm/alpha", "teams.example.com/alpha"])
def test_why_tries_a_team_and_reports_in_the_words_of_its_plugin(
    kubeconfig: Path, configuration: Path, word: str
) -> None:
    shown = ask("why", word, "--kubeconfig", str(kubeconfig), "--config", str(configuration)).stdout.splitlines()
    assert shown[:2] == ["default/alpha needs 3 pods, 3 exist, 0 have nodes", "Benched: nobody has looked yet"]
    assert f"Tried now: {LACKING}" in shown
    assert "Place 1 of 1 waiting groups." in shown
    assert "Capacity for 1 more member is lacking: 1 cpu on one node." in shown


def test_the_shell_offers_teams(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-muster", "why", "--kubeconfig", str(kubeconfig), "tm/"])
    complete_for_kubectl()
    assert capsys.readouterr().out.splitlines() == ["tm/alpha", ":4"]


def test_a_member_is_explained_with_its_team(kubeconfig: Path, configuration: Path) -> None:
    shown = ask("why", "pod/alpha-0", "--kubeconfig", str(kubeconfig), "--config", str(configuration)).stdout
    assert LACKING in shown.splitlines()


@pytest.mark.parametrize(("size", "placed"), [(3, 0), (2, 2)])
def test_a_team_is_simulated_whole(
    kubeconfig: Path, configuration: Path, tmp_path: Path, size: int, placed: int
) -> None:
    wanted = tmp_path / "wanted.json"
    wanted.write_text(json.dumps({"kind": "List", "items": [team("beta", size), *players("beta", size)]}))
    result = ask(
        *("simulate", "-f", str(wanted), "--kubeconfig", str(kubeconfig), "--config", str(configuration), "-o", "json")
    )
    pods = json.loads(result.stdout)["pods"]
    assert {pod["group"] for pod in pods} == {"default/beta"}
    assert sum(1 for pod in pods if pod["node"]) == placed
