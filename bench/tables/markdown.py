"""Tables in Markdown, and figures as their cells: the same rounding in every table."""

from collections.abc import Sequence

MEBIBYTE = 1 << 20
_SIGNIFICANT_FROM = 10
NONE = "\N{EN DASH}"
"""The cell of a figure that a failed run does not have."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> str:
    """A table whose first `texts` columns are texts, and whose other columns are right-aligned figures."""
    rules = ["---" if column < texts else "---:" for column in range(len(header))]
    return "\n".join(_line(row) for row in (header, rules, *rows))


def figure(value: float | None, decimals: int = 0) -> str:
    """A number with a separator of thousands. What rounds to zero has no sign."""
    return NONE if value is None else f"{value:z,.{decimals}f}"


def ratio(subject: float | None, baseline: float | None) -> str:
    """The ratio to the baseline with two decimals, or one from 10 on."""
    if subject is None or not baseline:
        return NONE
    times = subject / baseline
    return f"{times:.1f}" if times >= _SIGNIFICANT_FROM else f"{times:.2f}"


def _line(cells: Sequence[str]) -> str:
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"
