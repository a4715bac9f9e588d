"""A small backlog on a full cluster, and what the command makes of its arguments."""

from typing import cast

from click.testing import CliRunner

from bench.backlog import SIGNATURES, Situation, main, waiting
from bench.client import Client
from bench.full import filling, status_writes, writes
from bench.sides import KUBE_SCHEDULER, MUSTER


def test_pods_that_wait_are_of_twenty_signatures_and_fit_on_an_empty_node_alone() -> None:
    specs = {waiting(number)[1].partition(b'"spec"')[2] for number in range(100)}
    assert len(specs) == SIGNATURES


def test_every_node_is_full() -> None:
    assert len({body for _, body in filling(10)}) == 10


def test_a_side_that_knows_no_gangs_gets_their_members_as_single_pods() -> None:
    situation = Situation("gangs", plain=5, gangs=2, size=3)
    groups, pods = situation.bodies(MUSTER)
    assert (len(groups), len(pods)) == (2, 11)
    groups, pods = situation.bodies(KUBE_SCHEDULER)
    assert (len(groups), len(pods)) == (0, 11)


async def test_statuses_of_pods_are_counted_separately_from_other_writes() -> None:
    lines = [
        _requests("pods", "status", "PATCH", 7),
        _requests("pods", "status", "GET", 11),
        _requests("pods", "binding", "POST", 13),
        _requests("pods", "", "PATCH", 17),
        _requests("podgroups", "status", "PATCH", 19),
    ]

    class Metrics:
        async def text(self, path: str) -> str:
            return "".join(lines) if path == "/metrics" else ""

    assert await status_writes(cast("Client", Metrics())) == 7
    assert await writes(cast("Client", Metrics())) == 7 + 13 + 17 + 19


def _requests(resource: str, subresource: str, verb: str, number: int) -> str:
    return (
        'apiserver_request_total{code="200",component="apiserver",dry_run="",group="",'
        f'resource="{resource}",scope="resource",subresource="{subresource}",verb="{verb}",version="v1"}} {number}\n'
    )


def test_more_pods_cannot_end_than_there_are_nodes() -> None:
    result = CliRunner().invoke(main, ["--nodes=100", "--rate=20", "--seconds=30"])
    assert result.exit_code == 2
    assert "600 pods cannot end on 100 nodes" in result.output
