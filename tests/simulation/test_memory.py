"""The memory of a whole process is bounded by what is alive: nothing of pods, gangs and nodes that have ever been."""

from collections.abc import Iterator

from muster.operator.process.process import Process
from muster.testing.simulation import Act, standard
from muster.testing.simulation.history import ZONES
from muster.testing.simulation.stage import Stage
from tests.growth import grown, sizes

ROUNDS = 40
ROUND_SECONDS = 5.0
QUIET_SECONDS = 800.0
"""Longer than any event is remembered for people, and than any timer runs."""
SLACK = 10
"""What differs from one moment to another, of requests under way."""
ELSEWHERE = ("muster.testing", "muster.sandbox")


def churn(name: str) -> Iterator[Act]:
    """In each round a node, pods and gangs come, of which some do not fit, and others change, are held and go."""
    for number in range(ROUNDS):
        at, of = number * ROUND_SECONDS, f"{name}-{number}"
        yield Act(at, "node_comes", (f"node-{of}", ZONES[number % 2]))
        yield Act(at, "pods_come", (f"pod-{of}", 3, 500, "", number % 5 == 0))
        yield Act(at, "pods_come", (f"huge-{of}", 1, 9000 + number, "", False))
        for native in (False, True):
            gang = f"gang-{of}-{'native' if native else 'label'}"
            cpu = 9000 if number % 3 == 0 else 600
            yield Act(at, "group_comes", (gang, 2, native))
            yield from (Act(at, "member_comes", (gang, member, cpu, native)) for member in range(2))
        yield from (Act(at + 3, what, (number / ROUNDS,)) for what in ("pod_ends", "pod_is_made_again", "pod_goes"))
        yield Act(at + 3.5, "group_is_held", (number / ROUNDS, ROUND_SECONDS))
        yield Act(at + 4, "all_goes")
        yield Act(at + 4, "node_goes", (0.0,))


def play(stage: Stage, name: str) -> None:
    """And let it be quiet."""
    stage.world.expect(churn(name))
    stage.go_on(ROUNDS * ROUND_SECONDS + QUIET_SECONDS)


def test_nothing_is_kept_of_what_is_gone() -> None:
    stage = Stage("memory", 1, standard())
    stage.most_steps = 10_000_000
    process = leading(stage)
    play(stage, "first")
    before = sizes(process, ELSEWHERE)
    play(stage, "second")
    after = sizes(process, ELSEWHERE)
    bound, wrong = len(stage.judge.bound), [*stage.judge.wrong, *stage.loop.failures]
    stage.end()

    assert bound > 5 * ROUNDS
    assert wrong == []
    assert grown(before, after, SLACK) == {}


def leading(stage: Stage) -> Process:
    """The process, as soon as it leads."""
    stage.go_on(30.0)
    [replica] = stage.replicas
    assert replica.leads
    assert replica.process is not None
    return replica.process
