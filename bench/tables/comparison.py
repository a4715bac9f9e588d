"""Tables of counts: comparisons with kube-scheduler, and the contents of the simulation's runs.

A comparison is shown as it was recorded. The acts of the simulation are shown in two groups: faults of machines and
networks, and all other changes by users, nodes and controllers.
"""

from collections.abc import Mapping
from typing import Any

from bench.tables.block import Block
from bench.tables.markdown import figure, table


def _counts(data: Mapping[str, Any]) -> str:
    """One table of all single figures, then one for each mapping, with its name."""
    single = [[_words(name), figure(value, _decimals(value))] for name, value in data.items() if _is_figure(value)]
    tables = [table(["", "number"], single)]
    for name, counts in data.items():
        if isinstance(counts, Mapping) and counts:
            tables.append(table([_words(name), "number"], [[what, figure(count)] for what, count in counts.items()]))
    return "\n\n".join(tables)


FAULTS = frozenset(
    {
        "cable_is_pulled",
        "clock_jumps",
        "history_is_forgotten",
        "leader_is_ended",
        "leader_is_killed",
        "leader_stands",
        "process_is_ended",
        "process_is_killed",
        "process_is_slow",
        "process_stands",
        "standbys_miss_much",
        "watches_break",
        "watches_fall_silent",
        "weather_turns",
    }
)
"""The acts of the simulation that are faults; a test compares them with the acts that runs contain."""
_HOUR = 3600.0


def _simulation(data: Mapping[str, Any]) -> str:
    took_part: Mapping[str, Mapping[str, int]] = data["took_part"]
    acts, events = took_part["acts"], took_part["events"]
    figures = {
        "seeds": data["seeds"],
        "seeds that went wrong": data["wrong"],
        "events": data["events"],
        "hours simulated": data["simulated_seconds"] / _HOUR,
        "seeds an hour": data["seeds_an_hour"],
        "groups that ran at rest": events["groups judged"],
        "of these, excused for running in part": events["groups excused"],
    }
    kinds = {
        "groups": took_part["groups"],
        "faults": {what: count for what, count in acts.items() if what in FAULTS},
        "other acts": {what: count for what, count in acts.items() if what not in FAULTS},
        "plugins, by pods that each was asked about": took_part["plugins asked"],
        "plugins, by pods that each held back": took_part["pods held back"],
        "what came of it": {what: count for what, count in events.items() if not what.startswith("groups ")},
    }
    return "\n\n".join(
        [
            table(["", "number"], [[what, figure(value)] for what, value in figures.items()]),
            table(["took part", "how often"], [[what, _listed(counts)] for what, counts in kinds.items()], texts=2),
        ]
    )


def _listed(counts: Mapping[str, int]) -> str:
    """The counts as one line, the largest first."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{_words(what)} {figure(count)}" for what, count in ordered)


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float)


def _decimals(value: float) -> int:
    return 0 if value == int(value) else 1


def _words(name: str) -> str:
    return name.replace("_", " ")


PARITY = Block(("parity",), _counts)
PARITY_PREEMPTION = Block(("parity-preemption",), _counts)
PARITY_GROUPS = Block(("parity-groups",), _counts)
PARITY_TREES = Block(("parity-trees",), _counts)
SIMULATION = Block(("simulation",), _simulation)
