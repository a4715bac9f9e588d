"""Rounds: how long Muster waits for pods that do not declare their end, in proportion to the wait of the holder.

A reservation begins when its holder has waited for `afterSeconds`, and each round lasts as long as the whole wait
before it. So rounds follow from the time of the first rejection alone, and a new leader that reads this time knows the
round. A pod that has run through a whole round is long-lived, and the next round does not count on its end. As rounds
double, one of them is soon longer than the run time of every pod that ends, and from then on only pods that never end
count as long-lived; `starts_within` follows from that.

A pod that declares when it ends is trusted as far as its round looks ahead: to `horizon`. If it ends later, Muster
waits for it no longer than for a pod that declares nothing, because it may end much earlier, and others may too.
"""

from __future__ import annotations

from math import inf

SLACK_SECONDS = 60.0
"""The part of the bound besides the run times of pods: grace periods, pauses between attempts, a failover."""


def round_at(now: float, since: float, after_seconds: float) -> int:
    """The round, from 0 on, of a reservation whose holder waits since `since`; -1 before the reservation begins."""
    number = -1
    while now >= begins_at(number + 1, since, after_seconds):
        number += 1
    return number


def begins_at(number: int, since: float, after_seconds: float) -> float:
    """When a round begins. A comparison with it agrees with `round_at`, because both use this one rounded sum."""
    return since + float(after_seconds * 2**number)


def long_lived_before(since: float, number: int, after_seconds: float) -> float:
    """The time before which long-lived pods of a round started; no pod is long-lived in the first round."""
    return -inf if number < 1 else begins_at(number - 1, since, after_seconds)


def horizon(since: float, number: int, after_seconds: float) -> float:
    """The moment to which a round looks ahead: a start by then is within the bound of whom the next round would help.

    They would wait for pods that run for longer than this round makes long-lived. Infinity before the first round.
    """
    longer = begins_at(number - 1, since, after_seconds) - since if number >= 1 else 0.0
    return begins_at(number + 1, since, after_seconds) + longer if number >= 0 else inf


def starts_within(after_seconds: float, longest: float, leader_every: float = inf) -> float:
    """The most seconds between the first rejection of a pod or group that can be helped, and its start.

    It can be helped if there are nodes, in one domain if it needs one, on which it fits as soon as the pods that run
    for at most `longest` seconds have ended, so that no pod that stays is in its way. The bound applies to holders of
    one of the `mostReservations`, as long as no pod of higher priority takes the capacity.

    A new leader, at most one in `leader_every` seconds, does not change the rounds, which follow from the first
    rejection. But it chooses the nodes of the round again, and pods may have just started on them. If pods run for less
    time than a leader leads, they end before the next change, so the holder waits for such pods only once more.
    Otherwise there is no bound (infinity): nodes may be chosen again and again.
    """
    chosen_again = 0.0 if leader_every == inf else longest
    if leader_every <= longest + SLACK_SECONDS:
        return inf
    return max(2 * after_seconds, 4 * longest) + longest + chosen_again + SLACK_SECONDS
