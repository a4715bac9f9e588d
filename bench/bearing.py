"""What other users noticed of an attack, and whether that exceeds a bound.

`bench.attack` measures it, one `Borne` for each attack. The judgement is pure: the same measurements give the same
faults, and any fault makes the command fail.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MIB = 1 << 20


@dataclass(frozen=True)
class Bounds:
    """The most that others may notice; times in seconds, memory in bytes.

    Attributes:
        held: the longest turn of the event loop. A turn is known by the bucket of a histogram alone, so the bound is
            compared with the upper edge of that bucket.
        livez: the longest answer of `/livez`; a kubelet waits for a second unless it is told otherwise.
        binding: the longest time from the creation of somebody else's pod to its node.
        kept: how much more memory the process may keep than it had before this attack.
        grown: the same, than it had before the first attack of all. The first object at the API's limits of size leaves
            up to 20 MiB and the first group of thousands as much again, which later ones use; what each attack adds is
            growth.
    """

    held: float = 0.05
    livez: float = 1.0
    binding: float = 1.0
    kept: int = 20 * MIB
    grown: int = 64 * MIB


@dataclass
class Borne:
    """What was noticed of one attack; times in seconds, memory in bytes.

    Attributes:
        held: the upper edge of the bucket in which the longest turn of the event loop is.
        livez: the longest answer of `/livez`.
        bound: how long each pod of somebody else took to its node.
        unbound: how many of them never came to one.
        before, highest, after: the resident memory.
        lease_kept: whether the process still led in the end, with the same lease.
        seen: what else was wrong while the attack went on.
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


def faults(borne: Borne, bounds: Bounds, baseline: int) -> list[str]:
    """What exceeded its bound, in words; `baseline` is the resident memory before the first attack of all.

    An attack during which no pod of somebody else was bound proves nothing, which is a fault as well.
    """
    kept, grown = borne.after - borne.before, borne.after - baseline
    found = {
        f"the loop was held for up to {borne.held:g} s, not {bounds.held:g} s": borne.held > bounds.held,
        f"/livez took {borne.livez:.2f} s": borne.livez > bounds.livez,
        "other pods were late": max(borne.bound, default=0.0) > bounds.binding,
        f"{borne.unbound} other pods were not bound": borne.unbound > 0,
        "no other pod was bound": not borne.bound,
        f"{kept / MIB:.0f} MiB of memory are not given back": kept > bounds.kept,
        f"memory has grown by {grown / MIB:.0f} MiB since the first attack": grown > bounds.grown,
        "the lease was lost": not borne.lease_kept,
        borne.seen: bool(borne.seen),
    }
    return [words for words, wrong in found.items() if wrong]


def verdicts(replayed: Sequence[tuple[Borne, Bounds]]) -> list[list[str]]:
    """The faults of attacks that followed one another, all against the memory before the first of them."""
    return [faults(borne, bounds, replayed[0][0].before) for borne, bounds in replayed]


def longest_held(before: Mapping[float, float], after: Mapping[float, float]) -> float:
    """The upper edge of the highest bucket that was counted up between two readings of the histogram.

    The smallest edge where none was.
    """
    return max((edge for edge, count in after.items() if count > before[edge]), default=min(after))
