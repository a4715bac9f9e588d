"""The evictions for a pod or a gang, and the budget that forbids one, as `simulate` and `why` show them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster.operator.cli import main
from muster.operator.explain.group_trial import sentences, try_group
from muster.operator.simulate.manifests import read
from tests.builders import PodDict, make_node, make_pod
from tests.simulate.rehearsing import GANG_ID, KINDS, member, muster, pod_group

BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "db", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "db"}}},
    "status": {"disruptionsAllowed": 0},
}


def runs(name: str, node: str, cpu: str) -> PodDict:
    return make_pod(name).requests(cpu=cpu).node(node).priority(1)


CLUSTER = [
    make_node("one", cpu="2"),
    make_node("two", cpu="2"),
    runs("guarded", "one", "2").labels(app="db"),
    runs("free", "two", "1"),
    runs("dear", "two", "1").priority(100),
    BUDGET,
]


def gang(size: int) -> list[Mapping[str, Any]]:
    return [pod_group("gang", size), *(member(f"m-{n}", "gang").requests(cpu="1").priority(10) for n in range(size))]


def simulate(tmp_path: Path, wanted: list[Mapping[str, Any]], *more: str) -> str:
    dump, asked = tmp_path / "dump.json", tmp_path / "wanted.json"
    dump.write_text(json.dumps({"kind": "List", "items": CLUSTER}))
    asked.write_text(json.dumps({"kind": "List", "items": wanted}))
    return CliRunner().invoke(main, ["simulate", "-f", str(asked), "--from", str(dump), *more]).stdout


OF_THE_GANG = [
    {"pod": "default/guarded", "priority": 1, "node": "one", "budget": "default/db"},
    {"pod": "default/free", "priority": 1, "node": "two", "budget": ""},
]


@pytest.mark.parametrize(
    ("wanted", "preemptor", "group", "evicted"),
    [
        ([make_pod("web").requests(cpu="1").priority(10)], "default/web", False, OF_THE_GANG[1:]),
        ([make_pod("web").requests(cpu="2").priority(10)], "default/web", False, OF_THE_GANG[:1]),
        (gang(3), "default/gang", True, OF_THE_GANG),
        (gang(4), "default/gang", True, []),
    ],
    ids=["a pod", "a pod against a budget", "a gang", "a gang that would not fit all the same"],
)
def test_programs_read_who_would_be_evicted(
    tmp_path: Path, wanted: list[Mapping[str, Any]], preemptor: str, group: bool, evicted: list[dict[str, Any]]
) -> None:
    found = json.loads(simulate(tmp_path, wanted, "-o", "json"))["evicted"]
    expected = [each | {"preemptor": preemptor, "group": group} for each in evicted]
    assert sorted(found, key=lambda each: each["node"]) == expected


REASONS = [
    "For pod group default/gang would be evicted: ",
    "default/guarded (priority 1) on one",
    "default/free (priority 1) on two",
    "PodDisruptionBudget default/db does not let default/guarded go, and is overruled",
]


def test_people_read_who_would_be_evicted_for_a_gang(tmp_path: Path) -> None:
    output = simulate(tmp_path, gang(3))
    assert [line for line in REASONS if line not in output] == []


async def test_why_a_gang_waits_says_whom_it_would_evict() -> None:
    cluster = read(
        json.dumps({"kind": "List", "items": [*CLUSTER, *gang(3)]}), "test", muster().kinds_to_read(), kinds=KINDS
    )
    trial = await try_group(muster(), cluster, GANG_ID)
    assert trial is not None
    assert trial.reason == ""
    output = "\n".join(sentences(trial))
    assert output.startswith("Tried now, it would be placed once others are evicted.")
    assert [line for line in REASONS if line not in output] == []
