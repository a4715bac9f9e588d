"""The effects of an attack on other users, and whether they exceed a bound.

`bench.attack` measures `AttackEffects` for each attack. The comparison is pure, and any fault fails the command.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MIB = 1 << 20


@dataclass(frozen=True)
class Bounds:
    """The bounds of effects on other users; times in seconds, memory in bytes.

    Attributes:
        held: the longest block of the event loop. A block is known only by its bucket of a histogram, so the bound is
            compared with the bucket's upper edge.
        livez: the longest answer time of `/livez`; by default, a kubelet waits for a second.
        binding: the longest time from the creation of another user's pod to its binding.
        kept: the memory that the process may keep beyond what it had before this attack.
        grown: the memory that it may keep beyond what it had before the first attack. The first object of the API's
            largest size leaves up to 20 MiB, and the first group of thousands as much again, which later attacks reuse;
            what each attack adds is growth.
    """

    held: float = 0.05
    livez: float = 1.0
    binding: float = 1.0
    kept: int = 20 * MIB
    grown: int = 64 * MIB


@dataclass
class AttackEffects:
    """The effects of one attack on other users; times in seconds, memory in bytes.

    Attributes:
        held: the upper edge of the bucket with the longest block of the event loop.
        livez: the longest answer time of `/livez`.
        bound: the time that each pod of another user took to be bound.
        unbound: the number of such pods that were never bound.
        before, highest, after: the resident memory.
        lease_kept: whether the process still led in the end, with the same lease.
        seen: other faults during the attack.
    """

    name: str
    held: float = 0.0
    livez: float = 0.0
    bound: list[float] = field(default_factory=list)
    unbound: int = 0
    before: int = 0
    highest: int = 0
    after: int = 0
    lease_kept: bool = True
    seen: str = ""


def faults(effects: AttackEffects, bounds: Bounds, baseline: int) -> list[str]:
    """The exceeded bounds, as texts; `baseline` is the resident memory before the first attack.

    An attack during which no pod of another user was bound proves nothing, which is a fault too.
    """
    kept, grown = effects.after - effects.before, effects.after - baseline
    found = {
        f"the loop was blocked for up to {effects.held:g} s, not {bounds.held:g} s": effects.held > bounds.held,
        f"/livez took {effects.livez:.2f} s": effects.livez > bounds.livez,
        "other pods were late": max(effects.bound, default=0.0) > bounds.binding,
        f"{effects.unbound} other pods were not bound": effects.unbound > 0,
        "no other pod was bound": not effects.bound,
        f"{kept / MIB:.0f} MiB of memory are not given back": kept > bounds.kept,
        f"memory has grown by {grown / MIB:.0f} MiB since the first attack": grown > bounds.grown,
        "the lease was lost": not effects.lease_kept,
        effects.seen: bool(effects.seen),
    }
    return [words for words, wrong in found.items() if wrong]


def verdicts(replayed: Sequence[tuple[AttackEffects, Bounds]]) -> list[list[str]]:
    """The faults of successive attacks, all relative to the memory before the first one."""
    return [faults(effects, bounds, replayed[0][0].before) for effects, bounds in replayed]


def longest_block(before: Mapping[float, float], after: Mapping[float, float]) -> float:
    """The upper edge of the highest bucket whose count increased between two readings of the histogram.

    The smallest edge if no count increased.
    """
    return max((edge for edge, count in after.items() if count > before[edge]), default=min(after))
