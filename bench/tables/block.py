"""A block of a page: Markdown from the data of some results, and a sentence about their origin."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bench.results import Result


class Block(NamedTuple):
    """A block that shows the results named `sources`, and those of `more` that exist.

    `body` gets the data of all in this order, and None for what does not exist.
    """

    sources: tuple[str, ...]
    body: Callable[..., str]
    more: tuple[str, ...] = ()


def render(block: Block, results: Mapping[str, Result]) -> str:
    """The block's Markdown. If a result of its `sources` is missing, it names that result and shows no other."""
    if missing := [name for name in block.sources if name not in results]:
        return f"Not measured yet: {', '.join(missing)}."
    found = [results.get(name) for name in (*block.sources, *block.more)]
    shown = [result for result in found if result is not None]
    failures = [f"`{result.benchmark}` {result.run.failure}." for result in shown if result.run.failure]
    return "\n\n".join(
        [block.body(*(None if result is None else result.data for result in found)), _origins(shown), *failures]
    )


def _origins(results: Sequence[Result]) -> str:
    """The origins of the results: one sentence for a common origin, else one for each result."""
    by_origin: dict[str, list[str]] = {}
    for result in results:
        by_origin.setdefault(_origin(result), []).append(f"`{result.benchmark}`")
    if len(by_origin) == 1:
        return f"Measured {next(iter(by_origin))}."
    return "; ".join(f"{', '.join(names)} measured {origin}" for origin, names in by_origin.items()) + "."


def _origin(result: Result) -> str:
    return f"on {result.date} at commit `{result.commit}` on {result.machine}"
