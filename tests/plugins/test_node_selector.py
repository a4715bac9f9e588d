"""Node selectors: one node at a time, and many at once with the same outcome."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.model.node_selector import NodeRequirement, accepts, picks, usable, well_formed
from muster.framework.model.pod import NodeSelectorRequirement as Requirement
from muster.framework.model.pod import NodeSelectorTerm as Term
from muster.framework.model.preferences import Preferences
from muster.framework.model.quantity import integer
from muster.framework.snapshot.node_selector import admitted, any_picks, worth
from muster.framework.snapshot.view import NodeView
from tests.builders import NodeDict, make_node
from tests.plugins.cluster import Cluster, typed


@pytest.mark.parametrize(
    ("operator", "values", "accepted", "refused"),
    [
        ("In", ("a", "b"), ["a", "b"], ["c", "", None]),
        ("NotIn", ("a", "b"), ["c", "", None], ["a", "b"]),
        ("Exists", (), ["a", ""], [None]),
        ("DoesNotExist", (), [None], ["a", ""]),
        ("Gt", ("4",), ["5", "+5", "100"], ["4", "-5", "five", "5.0", " 5", "5_0", str(2**63), "", None]),
        ("Lt", ("4",), ["3", "-5"], ["4", "100", "three", str(-(2**63) - 1), "", None]),
    ],
)
def test_each_operator_accepts_what_kube_scheduler_accepts(
    operator: str, values: tuple[str, ...], accepted: list[str | None], refused: list[str | None]
) -> None:
    requirement = Requirement(key="k", operator=operator, values=values)
    assert [value for value in (*accepted, *refused) if accepts(requirement, value)] == accepted


@pytest.mark.parametrize(
    "requirement",
    [
        Requirement(key="k", operator="In"),
        Requirement(key="k", operator="NotIn"),
        Requirement(key="k", operator="Exists", values=("a",)),
        Requirement(key="k", operator="DoesNotExist", values=("a",)),
        Requirement(key="k", operator="Gt", values=("1", "2")),
        Requirement(key="k", operator="Lt", values=("one",)),
        Requirement(key="k", operator="Near", values=("a",)),
        Requirement(key="not a key", operator="Exists"),
        Requirement(key="k", operator="In", values=("a", "not a value")),
    ],
)
def test_a_term_that_cannot_be_parsed_is_of_no_use(requirement: Requirement) -> None:
    assert not well_formed(Term(match_expressions=(requirement,)))


@pytest.mark.parametrize(
    "requirement",
    [
        Requirement(key="metadata.name", operator="Exists"),
        Requirement(key="metadata.name", operator="In", values=("a", "b")),
        Requirement(key="metadata.name", operator="NotIn"),
    ],
)
def test_fields_are_compared_with_just_one_value(requirement: Requirement) -> None:
    assert not well_formed(Term(match_fields=(requirement,)))


def test_an_empty_term_is_of_no_use_and_others_are_kept_in_order() -> None:
    first = Term(match_expressions=(Requirement(key="k", operator="Exists"),))
    second = Term(match_fields=(Requirement(key="metadata.name", operator="In", values=("n1",)),))
    assert usable([Term(), first, second]) == (first, second)


def test_integers_end_where_int64_ends() -> None:
    assert integer(str(2**63 - 1)) == 2**63 - 1
    assert integer(str(2**63)) is None


def test_a_requirement_without_usable_terms_admits_no_node() -> None:
    assert not NodeRequirement({}, ()).admits(typed(make_node("n1")))
    assert NodeRequirement({}, None).admits(typed(make_node("n1")))


def test_labels_and_one_of_the_terms_are_both_needed() -> None:
    terms = (Term(match_expressions=(Requirement(key="disk", operator="In", values=("ssd",)),)),)
    requirement = NodeRequirement({"rack": "r1"}, terms)
    assert requirement.admits(typed(make_node("n").labels(rack="r1", disk="ssd")))
    assert not requirement.admits(typed(make_node("n").labels(rack="r1")))
    assert not requirement.admits(typed(make_node("n").labels(disk="ssd")))


def test_a_field_that_nodes_do_not_have_is_empty() -> None:
    cluster = Cluster(make_node("n1"))
    for operator, value, picked in (("In", "x", False), ("In", "", True), ("NotIn", "x", True), ("NotIn", "", False)):
        term = Term(match_fields=(Requirement(key="spec.flavour", operator=operator, values=(value,)),))
        assert picks(term, {}, "n1") is picked
        assert any_picks([term], cluster.view()).tolist() == [picked]


KEYS, VALUES, NAMES = ("disk", "cores", "rack"), ("", "ssd", "hdd", "4", "16", "-2"), ("n0", "n1", "n2", "n3", "n9")
labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
compared = st.builds(
    Requirement,
    key=st.sampled_from((*KEYS, "unknown")),
    operator=st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")),
    values=st.lists(st.sampled_from((*VALUES, "7")), max_size=3).map(tuple),
)
fields = st.builds(
    Requirement,
    key=st.just("metadata.name"),
    operator=st.sampled_from(("In", "NotIn")),
    values=st.sampled_from(NAMES).map(lambda name: (name,)),
)
terms = st.builds(
    Term,
    match_expressions=st.lists(compared, max_size=3).map(tuple),
    match_fields=st.lists(fields, max_size=2).map(tuple),
)


clusters = st.lists(labels, min_size=1, max_size=4)


def nodes_of(cluster: list[dict[str, str]]) -> list[NodeDict]:
    return [make_node(f"n{index}").labels(each) for index, each in enumerate(cluster)]


@given(clusters, labels, st.none() | st.lists(terms, max_size=6).map(usable), st.data())
def test_many_terms_and_nodes_at_once_are_decided_as_one_by_one(
    cluster: list[dict[str, str]], wanted: dict[str, str], alternatives: tuple[Term, ...] | None, data: st.DataObject
) -> None:
    nodes = [typed(node) for node in nodes_of(cluster)]
    requirement = NodeRequirement(wanted, alternatives)
    expected = [
        all(node.metadata.labels.get(key) == value for key, value in wanted.items())
        and (
            alternatives is None or any(picks(term, node.metadata.labels, node.metadata.name) for term in alternatives)
        )
        for node in nodes
    ]
    assert [requirement.admits(node) for node in nodes] == expected
    view = Cluster(*nodes_of(cluster)).view()
    assert admitted(requirement, view).tolist() == expected
    some = data.draw(st.lists(st.sampled_from(range(len(nodes))), unique=True))
    part = NodeView(view.snapshot, np.array(some, np.intp))
    assert admitted(requirement, part).tolist() == [expected[index] for index in some]


@given(clusters, st.lists(st.tuples(st.integers(1, 100), terms), max_size=6))
def test_many_preferences_are_worth_the_sum_of_their_weights(
    cluster: list[dict[str, str]], weighted: list[tuple[int, Term]]
) -> None:
    weighted = [(weight, term) for weight, term in weighted if well_formed(term)]
    expected = [
        sum(weight for weight, term in weighted if picks(term, node["metadata"]["labels"], node["metadata"]["name"]))
        for node in nodes_of(cluster)
    ]
    assert worth(Preferences(weighted), Cluster(*nodes_of(cluster)).view()).tolist() == expected


def test_terms_on_one_label_come_to_a_handful_of_tests() -> None:
    merged = [
        Term(match_expressions=(Requirement(key="size", operator=operator, values=(str(number),)),))
        for number in range(1000)
        for operator in ("In", "NotIn", "Gt", "Lt")
    ]
    requirement = NodeRequirement({}, tuple(merged))
    assert requirement.alternatives is not None
    assert len(requirement.alternatives.tests("size")) == 4
    preferences = Preferences((1, term) for term in merged)
    assert list(preferences.keys) == ["size"]
    assert not preferences.several


def test_keys_that_no_node_has_are_not_looked_for() -> None:
    cluster = Cluster(*(make_node(f"n{number}") for number in range(3)))
    terms = [Term(match_expressions=(Requirement(key=f"k{n}", operator="Exists"),)) for n in range(1000)]
    before = set(cluster.snapshot.labels.keys)
    assert not any_picks(terms, cluster.view()).any()
    assert not worth(Preferences((1, term) for term in terms), cluster.view()).any()
    assert not admitted(NodeRequirement({f"k{n}": "x" for n in range(1000)}, None), cluster.view()).any()
    assert set(cluster.snapshot.labels.keys) == before
