"""Tables in Markdown, and figures as their cells: the same rounding in every table."""

from collections.abc import Sequence

MEBIBYTE = 1 << 20
_SIGNIFICANT_FROM = 10
NONE = "\N{EN DASH}"
"""In place of a figure that a failed run did not give."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> str:
    """The first `texts` columns are texts, the others figures, which are aligned to the right."""
    rules = ["---" if column < texts else "---:" for column in range(len(header))]
    return "\n".join(_line(row) for row in (header, rules, *rows))


def figure(value: float | None, decimals: int = 0) -> str:
    """A number with thousands separated."""
    return NONE if value is None else f"{value:,.{decimals}f}"


def ratio(subject: float | None, baseline: float | None) -> str:
    """How many times the baseline: two decimals, one from 10 on."""
    if subject is None or not baseline:
        return NONE
    times = subject / baseline
    return f"{times:.1f}" if times >= _SIGNIFICANT_FROM else f"{times:.2f}"


def _line(cells: Sequence[str]) -> str:
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"
