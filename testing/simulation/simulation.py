"""One run: a cluster with its processes, a history, and what came of it.

`simulate` plays a seed. The same seed gives the same run to the byte: its digest is over every request, answer and
watch event, with their times, and the objects that are left.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from muster.operator.process.settings import LEASE, Assembly, assemble, muster_configuration
from muster.sandbox.kinds import NODES, PODS

from .history import Act, history_of, scale_of
from .judge import Judge
from .loop import SimulatedLoop
from .replica import Replica
from .server import SimulatedServer
from .world import World

_REST_SECONDS = 180.0
"""Longer than anything is put off, the two and a half minutes included after which a half-open watch is noticed.

With all that happened before still less than the five minutes after which everything is tried again anyway.
"""
_REMEDY_SECONDS = 15.0
_END_SECONDS = 60.0
"""Longer than the longest backoff, and than anything is kept that is not needed any more."""
_LOOK_EVERY = 50
_MOST_STEPS = 100_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a seed.

    Attributes:
        seed: which.
        history: what happened.
        wrong: what did not hold; empty when all is well.
        digest: of everything that was sent and is left.
        steps: callbacks that ran.
        seconds: virtual time that passed.
        bound: pods that Muster bound.
    """

    seed: str
    history: tuple[Act, ...]
    wrong: tuple[str, ...]
    digest: str
    steps: int
    seconds: float
    bound: int

    def __str__(self) -> str:
        verdict = "; ".join(self.wrong) or "all held"
        return f"seed {self.seed}: {len(self.history)} acts, {self.steps} events, {self.bound} bound: {verdict}"


class _EndlessError(Exception):
    """A run that does not come to its end."""


def simulate(
    seed: str | int,
    *,
    history: Sequence[Act] | None = None,
    assembly: Assembly | None = None,
    tell: Callable[[str], None] | None = None,
) -> Outcome:
    """Play a seed.

    `history` is played instead of the seed's own; everything else is chosen by the seed all the same. `assembly` is
    what the processes run, by default Muster's own configuration with leader election. `tell` is given each line that
    the digest is made of.
    """
    seed = str(seed)
    scale = scale_of(seed)
    acts = tuple(history_of(seed, scale) if history is None else history)
    digest = hashlib.blake2b(digest_size=16)
    loop = SimulatedLoop(Random(f"{seed}/loop"))
    began = loop.time()

    def record(line: str) -> None:
        whole = f"{loop.time() - began:.6f} {line}"
        digest.update(whole.encode())
        if tell is not None:
            tell(whole)

    asyncio._set_running_loop(loop)
    try:
        server = SimulatedServer(loop, Random(f"{seed}/server"))
        replicas = [
            Replica(f"muster-{number}", assembly or standard(), server, loop, seed, record)
            for number in range(scale.replicas)
        ]
    finally:
        asyncio._set_running_loop(None)
    world = World(server, replicas, loop, record)
    judge = Judge(server, replicas, world)

    def after_step() -> None:
        if loop.steps % _LOOK_EVERY == 0:
            judge.look()
        if loop.steps > _MOST_STEPS:
            raise _EndlessError

    world.expect(acts)
    try:
        loop.run_until(began + scale.seconds, after_step)
        world.calm_down()
        loop.run_until(began + scale.seconds + _REST_SECONDS, after_step)
        for kind in (NODES, PODS):
            for obj in server.objects(kind):
                record(str(obj))
        judge.at_rest()
        if not judge.wrong:
            for _ in judge.remove_reasons():
                loop.run_until(loop.time() + _REMEDY_SECONDS, after_step)
        if not judge.wrong:
            world.all_goes()
            loop.run_until(loop.time() + _END_SECONDS, after_step)
            judge.at_the_end()
    except _EndlessError:
        judge.wrong.append(f"no end after {_MOST_STEPS} steps")
    wrong = (*judge.wrong, *loop.failures)
    seconds = loop.time() - began
    loop.end()
    return Outcome(seed, acts, wrong, digest.hexdigest(), loop.steps, seconds, len(judge.bound))


@cache
def standard() -> Assembly:
    """What processes run by default."""
    configuration = muster_configuration()
    election = configuration.leader_election.model_copy(update={"leader_elect": True, "resource_name": LEASE})
    return assemble(configuration.model_copy(update={"leader_election": election}))
