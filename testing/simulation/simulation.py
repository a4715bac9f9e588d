"""One run: a cluster with its processes, a history, and the result.

`simulate` plays a seed. The same seed gives the same run to the byte: its digest covers every request, answer and watch
event, with their times and bodies, and the remaining objects.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from muster.framework.config.model import PluginConfig, PluginReference, Plugins
from muster.operator.process.settings import LEASE, Assembly, assemble, muster_configuration
from muster.plugins.preemptiontiming.plugin import PreemptionTiming
from muster.plugins.reservation.args import NAME, ReservationArgs
from muster.sandbox.kinds import NODES, PODS

from .history import Act, Scale, history_of, scale_of
from .passing import BETWEEN_SECONDS
from .stage import EndlessError, Stage
from .starvation import Patience
from .tally import SeedTally
from .timing import PreemptionTimes

_REST_SECONDS = 180.0
"""Longer than anything is put off, the two and a half minutes included after which a half-open watch is noticed.

With all that happened before still less than the five minutes after which everything is tried again anyway, but for a
crowd. The cluster at rest is looked at again when capacity has been reserved for all that it can help.
"""
_REMEDY_SECONDS = 15.0
_END_SECONDS = 60.0
"""Longer than the longest backoff, and than any record is kept after its use."""


@dataclass(frozen=True, slots=True)
class SimulationOutcome:
    """The outcome of a seed.

    Attributes:
        seed: the seed.
        scale: the size of the run.
        history: the acts that were played.
        wrong: the violated guarantees; empty if all held.
        digest: the hash of all messages and of the objects at the end.
        steps: the number of callbacks that ran.
        seconds: the virtual time that passed.
        bound: the number of pods that Muster bound.
        tally: the kinds of groups, acts and plugins that took part.
    """

    seed: str
    scale: Scale
    history: tuple[Act, ...]
    wrong: tuple[str, ...]
    digest: str
    steps: int
    seconds: float
    bound: int
    tally: SeedTally

    def __str__(self) -> str:
        verdict = "; ".join(self.wrong) or "all held"
        return f"seed {self.seed}: {len(self.history)} acts, {self.steps} events, {self.bound} bound: {verdict}"


@contextmanager
def _without_collector() -> Iterator[None]:
    """Collect garbage only before a run, because a collection would make the run depend on its time.

    Objects that equal pods share live until they are collected, and a process that has to compute them again reads its
    clock more often.
    """
    enabled = gc.isenabled()
    gc.disable()
    gc.collect(1)
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_without_collector()
def simulate(
    seed: str | int,
    *,
    history: Sequence[Act] | None = None,
    scale: Scale | None = None,
    assembly: Assembly | None = None,
    trace: Callable[[str], None] | None = None,
) -> SimulationOutcome:
    """Play a seed.

    `history` and `scale` replace the seed's own; the seed still determines everything else. `assembly` is the
    configuration of the processes, by default Muster's own with leader election. `trace` is called with each line that
    enters the digest, without the bodies.
    """
    seed = str(seed)
    scale = scale or scale_of(seed)
    acts = tuple(history_of(seed, scale) if history is None else history)
    assembly = assembly or standard(scale.after_seconds, scale.timing)
    stage = Stage(seed, scale.replicas, assembly, trace or _ignore)
    world, judge = stage.world, stage.judge
    world.expect(acts)
    try:
        stage.go_on(scale.seconds)
        stage.calm_down()
        if (after := _reserves_after(assembly)) > 0:
            judge.troubles_end(Patience(after, scale.crowd.longest if scale.crowd is not None else 0.0))
        stage.go_on(stage.began + scale.quiet_at + _REST_SECONDS + BETWEEN_SECONDS - stage.loop.time())
        for kind in (NODES, PODS):
            for obj in stage.server.objects(kind):
                stage.record(str(obj))
        judge.at_rest()
        if not judge.wrong:
            stage.go_on(stage.began + scale.decided_at + BETWEEN_SECONDS - stage.loop.time())
            judge.at_rest()
        if not judge.wrong:
            for _ in judge.remove_reasons():
                stage.go_on(_REMEDY_SECONDS)
        if not judge.wrong:
            world.all_goes()
            stage.go_on(_END_SECONDS)
            judge.at_the_end()
    except EndlessError as error:
        judge.wrong.append(str(error))
    gc.collect(0)  # what nobody caught is known when its task is gone
    wrong = (*judge.wrong, *stage.loop.failures)
    seconds = stage.loop.time() - stage.began
    stage.end()
    digest, tally = stage.digest.hexdigest(), judge.sum_up(acts)
    return SimulationOutcome(seed, scale, acts, wrong, digest, stage.loop.steps, seconds, len(judge.bound), tally)


def _ignore(line: str) -> None:
    """The default for `trace`."""


def _reserves_after(assembly: Assembly) -> int:
    """The seconds after which capacity is reserved for a waiting pod or group; 0 for never."""
    given = [profile.args.get(NAME) for profile in assembly.profiles]
    return next((args.after_seconds for args in given if isinstance(args, ReservationArgs)), 0)


@cache
def standard(after_seconds: int = 300, timing: PreemptionTimes | None = None) -> Assembly:
    """The default configuration of processes, with another time after which capacity is reserved.

    With `timing`, every profile runs PreemptionTiming with these arguments.
    """
    configuration = muster_configuration()
    election = configuration.leader_election.model_copy(update={"leader_elect": True, "resource_name": LEASE})
    args = [PluginConfig(name="Reservation", args={"afterSeconds": after_seconds})]
    more: tuple[str, ...] = ()
    if timing is not None:
        times = {"delaySeconds": timing.delay, "minRunSeconds": timing.min_run}
        args.append(PluginConfig(name=PreemptionTiming.name, args=times))
        more = (PreemptionTiming.name,)
    profiles = tuple(
        profile.model_copy(update={"plugin_config": (*args,), "plugins": _with_plugins(profile.plugins, more)})
        for profile in configuration.profiles
    )
    return assemble(configuration.model_copy(update={"leader_election": election, "profiles": profiles}))


def _with_plugins(plugins: Plugins, names: Iterable[str]) -> Plugins:
    """The plugins, with these at all their extension points."""
    everywhere = plugins.multi_point
    enabled = (*everywhere.enabled, *(PluginReference(name=name) for name in names))
    return plugins.model_copy(update={"multi_point": everywhere.model_copy(update={"enabled": enabled})})
