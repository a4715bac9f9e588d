"""Rounds: how long Muster waits for pods that do not declare their end, in proportion to the wait of the holder.

A reservation begins when its holder has waited for `afterSeconds`, and each round lasts as long as the whole wait
before it. So rounds follow from the time of the first refusal alone, and a new leader that reads this time knows the
round. A pod that has run through a whole round is long-lived, and the next round does not count on its end. As rounds
double, one of them is soon longer than every pod that does end, and from then on only the other pods count as
long-lived; `starts_within` follows from that.
"""

from __future__ import annotations

from math import inf

SLACK_SECONDS = 60.0
"""What the bound leaves for all but the waiting for pods: their grace period, pauses between attempts, a failover."""


def round_at(now: float, since: float, after_seconds: float) -> int:
    """The round of a reservation whose holder has waited since then, from 0 on; negative while it has none."""
    number = -1
    while now >= begins_at(number + 1, since, after_seconds):
        number += 1
    return number


def begins_at(number: int, since: float, after_seconds: float) -> float:
    """When a round begins. Who compares a moment with this has the answer of `round_at`: one sum, rounded once."""
    return since + float(after_seconds * 2**number)


def long_lived_before(since: float, number: int, after_seconds: float) -> float:
    """In a round, pods that began before this moment are long-lived; in the first one no pod is."""
    return -inf if number < 1 else begins_at(number - 1, since, after_seconds)


def starts_within(after_seconds: float, longest: float, leader_every: float = inf) -> float:
    """Within how many seconds of its first refusal a pod or group starts that can be helped.

    It can be helped when there are nodes, in one domain if it needs one, on which it fits as soon as pods have ended
    that run for `longest` seconds at most: pods that stay are not in its way. It holds for those that have one of the
    `mostReservations`, and while no pod of higher priority takes the capacity.

    Leaders that live for `leader_every` seconds at least leave the rounds as they are, for these follow from the first
    refusal. But each chooses the nodes of the round again, and pods may have just begun on them. Where pods run for
    less than leaders live these end before the leader changes once more, so they are waited for once more at most.
    Where they do not, the answer is infinity: nodes may be chosen again and again.
    """
    chosen_again = 0.0 if leader_every == inf else longest
    if leader_every <= longest + SLACK_SECONDS:
        return inf
    return max(2 * after_seconds, 4 * longest) + longest + chosen_again + SLACK_SECONDS
