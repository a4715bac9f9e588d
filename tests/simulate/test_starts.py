"""When a pod or a gang that finds no capacity would start: what `simulate`, `why` and `explain` foretell."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster.framework.config.load import load
from muster.framework.contract.reservation import Start
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.times import parse_time, rfc3339
from muster.operator.cli import main
from muster.operator.explain.group_trial import sentences, try_group
from muster.operator.explain.live import explain_among
from muster.operator.explain.tables import render
from muster.operator.process.settings import assemble
from muster.operator.simulate.rehearsal import Rehearsal
from muster.testing import configuration_of
from tests.builders import PodDict, make_node, make_pod
from tests.simulate.rehearsing import GANG_ID, member, muster, objects, pod_group

NOW = parse_time("2026-01-05T14:00:00Z")


def runs(name: str, node: str, *, until: str = "", cpu: str = "2") -> PodDict:
    """A pod that began at two and says when it ends, if it does."""
    pod = make_pod(name).requests(cpu=cpu).node(node).priority(100)
    pod["status"] = {"startTime": rfc3339(NOW), "phase": "Running"}
    if until:
        pod["spec"]["activeDeadlineSeconds"] = round(parse_time(f"2026-01-05T{until}Z") - NOW)
    return pod


CLUSTER = [
    *(make_node(name, cpu="2") for name in ("one", "two", "three")),
    runs("first", "one", until="14:03:00"),
    runs("second", "two", until="14:05:00"),
    runs("last", "three", until="18:00:00"),
]
GANG = [pod_group("gang", 2), *(member(f"m-{number}", "gang").requests(cpu="2") for number in range(2))]
BIG = make_pod("big").requests(cpu="2")


async def starts(cluster: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]]) -> list[Start]:
    async with Rehearsal(muster(), objects(*cluster), objects(*wanted), wall=NOW) as rehearsal:
        await rehearsal.place(rehearsal.pods)
        return [*rehearsal.starts]


async def test_a_gang_starts_once_enough_have_ended() -> None:
    found = Start("default/gang", True, "2026-01-05T14:05:00Z", ["default/first", "default/second"])
    assert await starts(CLUSTER, GANG) == [found]


async def test_each_start_keeps_the_capacity_reserved_for_the_previous_ones() -> None:
    assert await starts(CLUSTER, [*GANG, make_pod("big").requests(cpu="2").priority(10)]) == [
        Start("default/big", False, "2026-01-05T14:03:00Z", ["default/first"]),
        Start("default/gang", True, "2026-01-05T18:00:00Z", ["default/second", "default/last"]),
    ]


@pytest.mark.parametrize(
    ("cluster", "wanted"),
    [
        ([*CLUSTER, make_node("four", cpu="4")], GANG),
        ([make_node("one", cpu="2"), runs("first", "one")], [BIG]),
        (CLUSTER, [make_pod("huge").requests(cpu="3")]),
        (CLUSTER, [make_pod("elsewhere").requests(cpu="1").node_selector({"zone": "none"})]),
    ],
    ids=["it fits", "nobody says when it ends", "it never fits", "it is not room that it lacks"],
)
async def test_no_start_is_predicted(cluster: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]]) -> None:
    assert await starts(cluster, wanted) == []


async def test_no_start_is_predicted_where_nothing_is_reserved() -> None:
    document = configuration_of(["Coscheduling"], args={"Reservation": {"afterSeconds": 0}})
    assembly = assemble(load(document, "test"))
    async with Rehearsal(assembly, objects(*CLUSTER), objects(BIG), wall=NOW) as rehearsal:
        await rehearsal.place(rehearsal.pods)
        assert rehearsal.starts == ()


SENTENCE = (
    "With capacity reserved for it {} would start by 2026-01-05T14:0{}:00Z at the latest, when default/first{} ended."
)


async def test_why_shows_it_for_a_gang() -> None:
    trial = await try_group(muster(), objects(*CLUSTER, *GANG), GANG_ID, now=NOW)
    assert trial is not None
    assert SENTENCE.format("pod group default/gang", 5, ", default/second have") in sentences(trial)


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ([BIG], SENTENCE.format("default/big", 3, " has")),
        (GANG, SENTENCE.format("pod group default/gang", 5, ", default/second have")),
    ],
)
async def test_explain_shows_it_for_a_pod_alone_and_for_a_member(
    wanted: Sequence[Mapping[str, Any]], sentence: str
) -> None:
    cluster = objects(*CLUSTER, *wanted)
    explained = await explain_among(muster(), cluster, PodInfo(cluster.pods[-1]), now=NOW)
    assert sentence in [*render(explained)]


def test_simulate_shows_it(tmp_path: Path) -> None:
    dump, asked = tmp_path / "dump.json", tmp_path / "wanted.json"
    runs_for_an_hour = (
        make_pod("first").requests(cpu="2").node("one").annotations({"muster-scheduler.io/run-seconds": "3600"})
    )
    dump.write_text(json.dumps({"kind": "List", "items": [make_node("one", cpu="2"), runs_for_an_hour]}))
    asked.write_text(json.dumps(BIG))
    command = ["simulate", "-f", str(asked), "--from", str(dump)]
    shown = CliRunner().invoke(main, command).stdout
    assert "With capacity reserved for it default/big would start by 20" in shown
    assert "at the latest, when default/first has ended." in shown
    [start] = json.loads(CliRunner().invoke(main, [*command, "-o", "json"]).stdout)["starts"]
    assert (start["waiting"], start["group"], start["after"]) == ("default/big", False, ["default/first"])
