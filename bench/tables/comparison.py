"""Comparisons with kube-scheduler, and simulations: counts by their names."""

from collections.abc import Mapping
from typing import Any

from bench.tables.block import Block
from bench.tables.markdown import figure, table


def _counts(data: Mapping[str, Any]) -> str:
    """One table of all single figures, then one for each mapping, by its name."""
    single = [[_words(name), figure(value, _decimals(value))] for name, value in data.items() if _is_figure(value)]
    tables = [table(["", "number"], single)]
    for name, counts in data.items():
        if isinstance(counts, Mapping) and counts:
            tables.append(table([_words(name), "number"], [[what, figure(count)] for what, count in counts.items()]))
    return "\n\n".join(tables)


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
