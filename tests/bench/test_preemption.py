"""The benchmark of preemption: its waiting pods, and the arguments of its command."""

import json

from click.testing import CliRunner

from bench.preemption import URGENT, Situation, main


def test_gangs_that_wait_are_of_members_that_may_evict() -> None:
    groups, pods = Situation(nodes=10, gangs=2, size=3).bodies()
    assert len(groups) == 2
    assert [json.loads(body)["spec"]["priorityClassName"] for _, body in pods] == [URGENT] * 6


def test_without_gangs_as_many_pods_wait_as_run() -> None:
    groups, pods = Situation(nodes=10).bodies()
    assert (len(groups), len(pods)) == (0, 20)


def test_gangs_that_find_no_place_are_not_measured() -> None:
    result = CliRunner().invoke(main, ["--gangs=30", "--gang-nodes=449"])
    assert result.exit_code == 2
    assert "30 gangs of 30 find no place on 449 nodes" in result.output
