"""A block of a page: Markdown from the data of some results, and a sentence about their origin."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bench.results import Result


class Block(NamedTuple):
    """What a page shows of the results named `sources`; `body` gets their data in this order."""

    sources: tuple[str, ...]
    body: Callable[..., str]


def render(block: Block, results: Mapping[str, Result]) -> str:
    """The block's Markdown. Where a result is missing it says so, and shows none of the others."""
    if missing := [name for name in block.sources if name not in results]:
        return f"Not measured yet: {', '.join(missing)}."
    shown = [results[name] for name in block.sources]
    failures = [f"`{result.benchmark}` {result.run.failure}." for result in shown if result.run.failure]
    return "\n\n".join([block.body(*(result.data for result in shown)), _origins(shown), *failures])


def _origins(results: Sequence[Result]) -> str:
    """Where the results come from, said once for those of one origin, and of which where origins differ."""
    by_origin: dict[str, list[str]] = {}
    for result in results:
        by_origin.setdefault(_origin(result), []).append(f"`{result.benchmark}`")
    if len(by_origin) == 1:
        return f"Measured {next(iter(by_origin))}."
    return "; ".join(f"{', '.join(names)} measured {origin}" for origin, names in by_origin.items()) + "."


def _origin(result: Result) -> str:
    note = f" ({result.note})" if result.note else ""
    return f"on {result.date} at commit `{result.commit}` on {result.machine}{note}"
