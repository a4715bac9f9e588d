"""A leader that goes at every await of its decisions: what `test_every_await` plays, each work in a process of its own.

`python -m tests.simulation.every_await WORK` plays the work once. Wherever the leader awaits something, or something of
it has arrived, the process is forked for each change, and what would follow from it there is played in the child: a
beginning that is played anew for each of hundreds of awaits would take longer than all that follows.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from muster.sandbox.kinds import PODS
from muster.testing import make_pod
from muster.testing.simulation import Act, standard
from muster.testing.simulation.members import GROUP_LABEL, URGENT
from muster.testing.simulation.stage import Stage

BEGIN_SECONDS, MOST_SECONDS = 6.0, 20.0
STANDS_SECONDS, REST_SECONDS = 20.0, 32.0
"""A leader is paused for longer than its lease lasts; by the end its successor has tried all again."""
CHANGES = (Act(0.0, "leader_is_killed"), Act(0.0, "leader_is_ended"), Act(0.0, "leader_stands", (STANDS_SECONDS,)))


@dataclass(frozen=True)
class Work:
    """What a leader has to do.

    Attributes:
        before: what is there when it begins.
        comes: what comes then.
        bound: pods that are bound when it is done, those before included.
        left: pods that are there by then.
    """

    before: tuple[Act, ...]
    comes: Callable[[Stage], None]
    bound: int
    left: int


def arrivals(stage: Stage) -> None:
    """A gang of either kind, a pod and one with a device: there is enough of everything."""
    acts = (
        *(Act(0.0, "devices_come", (which, 2)) for which in (0.0, 0.5)),
        Act(0.0, "group_comes", ("gang", 2, False)),
        *(Act(0.0, "member_comes", ("gang", number, 1000, False)) for number in range(2)),
        Act(0.0, "group_comes", ("native", 2, True)),
        *(Act(0.0, "member_comes", ("native", number, 500, True)) for number in range(2)),
        Act(0.0, "pods_come", ("pod", 1, 500, "", True)),
        Act(0.0, "claimers_come", ("claimer", 1, 250)),
    )
    stage.world.expect(acts)


def preemption(stage: Stage) -> None:
    """A gang of high priority, for which two of four pods have to go."""
    stage.world.carry_out(Act(0.0, "group_comes", ("gang", 2, False)))
    for number in range(2):
        member = make_pod(f"gang-{number}").requests(cpu="2").labels({GROUP_LABEL: "gang"})
        member["spec"]["priorityClassName"] = URGENT
        stage.server.store.create(PODS, member, namespace="default")


WORKS = {
    "arrivals": Work((), arrivals, 6, 6),
    "preemption": Work((Act(1.0, "pods_come", ("low", 4, 1500, "", False)),), preemption, 6, 4),
}


class _DoneError(Exception):
    """The leader is done with the work."""


def play(work: Work) -> int:
    """Play the changes at every await and print what does not hold. How many awaits there were."""
    stage = Stage("every await", 2, standard())
    stage.world.expect([Act(0.0, "node_comes", (f"node-{number}", "east")) for number in range(2)])
    stage.world.expect(work.before)
    stage.go_on(BEGIN_SECONDS)
    work.comes(stage)
    [leader] = [replica for replica in stage.replicas if replica.leads]
    awaits = 0

    def after_step() -> None:
        nonlocal awaits
        if stage.loop.turn.name in (leader.identity, f"the way of {leader.name}"):
            awaits += 1
            for change in CHANGES:
                in_a_child(partial(follow, stage, work, change, awaits))
        if len(stage.judge.bound) == work.bound:
            raise _DoneError

    try:
        stage.loop.run_until(stage.loop.time() + MOST_SECONDS, after_step)
    except _DoneError:
        return awaits
    raise TimeoutError(f"after {MOST_SECONDS} s {len(stage.judge.bound)} pods are bound")


def follow(stage: Stage, work: Work, change: Act, number: int) -> None:
    """What follows from the change."""
    stage.world.carry_out(change)
    stage.go_on(REST_SECONDS)
    stage.judge.at_rest()
    found = [*stage.judge.wrong, *stage.loop.failures]
    bound, left = len(stage.judge.bound), len(stage.server.objects(PODS))
    if (found, bound, left) != ([], work.bound, work.left):
        print(f"{change.what} at await {number}: {bound} bound, {left} left, {found}")


def in_a_child(follows: Callable[[], None]) -> None:
    """In a copy of this process. Raises ChildProcessError when it comes to no end of its own."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        if status:
            raise ChildProcessError(os.waitstatus_to_exitcode(status))
        return
    try:
        follows()
        sys.stdout.flush()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    gc.disable()
    print(f"{play(WORKS[sys.argv[1]])} awaits")
