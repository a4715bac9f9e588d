"""Sampling: where a profile asks for a share of the nodes, enough are looked at, and all get their turn."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.contract import PreFilterResult
from muster.framework.runtime.attempt_state import AttemptState
from muster.framework.runtime.results import Filtered
from muster.framework.scheduler.node_choice import feasible_nodes_to_find, first_from
from tests.builders import make_node, make_pod
from tests.cache.objects import pod as typed_pod
from tests.scheduler.scripted import pre_filtering, scoring
from tests.scheduler.stage import Stage

POD = typed_pod(make_pod("web"))


@pytest.mark.parametrize(
    ("nodes", "percentage", "enough"),
    [
        (5000, None, 5000),  # Muster's own default: all
        (10, 30, 10),
        (99, 1, 99),  # fewer than a hundred are always all looked at
        (100, 1, 100),
        (1000, 10, 100),
        (2000, 10, 200),
        (6000, 0, 300),  # 50 - 6000/125 is 2, but never less than 5 per cent ...
        (10_000, 0, 500),
        (1000, 0, 420),  # ... and 50 - 1000/125 is 42
        (5000, 0, 500),
        (6000, 100, 6000),
    ],
)
def test_how_many_feasible_nodes_are_enough(nodes: int, percentage: int | None, enough: int) -> None:
    assert feasible_nodes_to_find(nodes, percentage) == enough


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(1, 30))
def test_only_feasible_nodes_are_sampled_all_equally_often(passing: list[bool], wanted: int) -> None:
    filtered = Filtered(np.arange(len(passing)), np.flatnonzero(passing))
    start, taken = 0, Counter[int]()
    for _ in range(len(passing)):
        found, start = first_from(start, filtered, wanted)
        rows = found.tolist()
        assert rows == sorted(rows)
        assert len(rows) == min(wanted, sum(passing))
        taken.update(rows)

    assert set(taken) == {row for row, passes in enumerate(passing) if passes}
    if taken:
        assert max(taken.values()) - min(taken.values()) <= 1


def test_a_profile_that_asks_for_a_share_scores_that_many_and_begins_where_it_ended() -> None:
    stage = Stage(scoring("A", {}), percentage=50)
    stage.put_node(*(make_node(f"n{number:03}") for number in range(240)))
    search = stage.engine.algorithms["muster"]
    rows = []
    for _ in range(3):
        found = search.find_nodes_that_fit(AttemptState(), POD)
        search.next_start = found.next_start
        rows.append(found.rows.tolist())

    assert rows == [list(range(120)), list(range(120, 240)), list(range(120))]


def test_the_share_is_taken_of_the_nodes_that_pre_filter_left() -> None:
    names = frozenset(f"n{number:03}" for number in range(150))
    stage = Stage(pre_filtering("Names", PreFilterResult(names)), scoring("A", {}), percentage=90)
    stage.put_node(*(make_node(f"n{number:03}") for number in range(1000)))

    found = stage.engine.algorithms["muster"].find_nodes_that_fit(AttemptState(), POD)

    assert len(found.rows) == 135


def test_by_default_all_nodes_are_scored() -> None:
    stage = Stage(scoring("A", {}))
    stage.put_node(*(make_node(f"n{number:03}") for number in range(240)))

    assert len(stage.engine.algorithms["muster"].find_nodes_that_fit(AttemptState(), POD).rows) == 240
