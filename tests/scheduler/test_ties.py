"""Nodes that are equally good: each has the same chance, and who only asks gets the same answer every time."""

from collections import Counter
from random import Random

import numpy as np
import pytest

from muster.framework.runtime.attempt_state import AttemptState
from muster.framework.scheduler.explain import explain
from muster.framework.scheduler.node_choice import Choose
from muster.framework.scheduler.ports import first_of_equals
from tests.builders import make_node, make_pod
from tests.cache.objects import pod as typed_pod
from tests.scheduler.scripted import scoring
from tests.scheduler.stage import Stage

POD = typed_pod(make_pod("web"))
DRAWS = 4000


def chosen(scores: dict[str, int], choose: Choose) -> str:
    """The node that a pod goes to."""
    stage = Stage(scoring("A", scores))
    stage.put_node(*(make_node(name) for name in scores))
    algorithm, state = stage.engine.algorithms["muster"], AttemptState()
    row = algorithm.select_host(state, POD, algorithm.find_nodes_that_fit(state, POD), choose)
    assert isinstance(row, int)
    return stage.engine.cache.snapshot.names[row]


@pytest.mark.parametrize("equals", [1, 2, 5, 40], ids=lambda equals: f"{equals} of 40")
def test_each_of_the_best_nodes_has_the_same_chance(equals: int) -> None:
    best = {f"n{number * 40 // equals:02}" for number in range(equals)}
    scores = {f"n{number:02}": 90 if f"n{number:02}" in best else 10 for number in range(40)}
    stage = Stage(scoring("A", scores))
    stage.put_node(*(make_node(name) for name in scores))
    algorithm, state, random = stage.engine.algorithms["muster"], AttemptState(), Random(7)
    found = algorithm.find_nodes_that_fit(state, POD)
    rows = [algorithm.select_host(state, POD, found, random.randrange) for _ in range(DRAWS)]
    taken = Counter(stage.engine.cache.snapshot.names[row] for row in rows if isinstance(row, int))

    assert taken.keys() == best
    expected = DRAWS / equals
    assert sum((count - expected) ** 2 / expected for count in taken.values()) < 2 * equals + 10  # chi-squared


async def test_small_pods_spread_over_equal_empty_nodes() -> None:
    stage = Stage(scoring("A", {}), choose=Random(1).randrange)
    stage.put_node(*(make_node(f"n{number}") for number in range(5)))
    stage.put_pod(*(make_pod(f"p{number}") for number in range(30)))
    await stage.settle()

    assert len({node for _, node in stage.binds}) == 5
    await stage.close()


def test_an_explanation_names_the_first_of_equal_nodes_and_changes_nothing() -> None:
    stage = Stage(scoring("A", {}), choose=Random(1).randrange)
    stage.put_node(*(make_node(f"n{number}") for number in range(5)))
    algorithm = stage.engine.algorithms["muster"]
    before = np.array(stage.engine.cache.snapshot.resources.requested)

    assert {explain(algorithm, POD).chosen for _ in range(20)} == {"n0"}
    assert np.array_equal(before, stage.engine.cache.snapshot.resources.requested)
    assert chosen({"a": 1, "b": 3, "c": 3}, first_of_equals) == "b"
