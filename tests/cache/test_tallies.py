"""Tallies and domains: always the numbers that counting all pods anew would give."""

import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from muster.framework.model.affinity_terms import TermKind
from muster.framework.model.label_selector import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    LabelSelectorRequirement,
    LabelSet,
    Selector,
    label_set_of,
    read_selector,
    with_labels,
)
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.labels import ABSENT
from muster.framework.snapshot.relations import Clause, PodsMatching, TermsAbout
from muster.framework.snapshot.snapshot import Snapshot
from muster.framework.snapshot.tallies import ANY, Tallies, Tally
from tests.builders import PodDict, make_node, make_pod
from tests.security.work import counted

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NODES = [f"n{number}" for number in range(5)]


def info(pod: PodDict) -> PodInfo:
    return PodInfo(msgspec.convert(pod, Pod))


VERY_MANY = {"app": "web", **{f"example.com/k-{number}": "x" for number in range(1_000)}}
KINDS: list[Callable[[PodDict], PodDict]] = [
    lambda pod: pod.labels(app="web"),
    lambda pod: pod.labels(app="web", tier="front"),
    lambda pod: pod.labels(app="db").apart(HOST, {"app": "db"}),
    lambda pod: pod.labels(app="db").near(ZONE, {"app": "web"}).apart(ZONE, {"app": "db"}, weight=7),
    lambda pod: pod.near(ZONE, {"app": "web"}, weight=3).near(HOST, {"app": "web"}, weight=5),
    lambda pod: pod.labels(app="web").apart(ZONE, {"app": "web"}).terminating(),
    lambda pod: pod,
    lambda pod: pod.labels({"pod-index": "1"}).apart(HOST, {"pod-index": "1"}),
    lambda pod: pod.labels(VERY_MANY).near(ZONE, {"app": "db"}),
]

ONLY_DEFAULT = frozenset({"default"})
QUESTIONS = [
    PodsMatching((Clause(ONLY_DEFAULT, with_labels({"app": "web"})),), terminating=False),
    PodsMatching((Clause(ONLY_DEFAULT, with_labels({"app": "web"})),), terminating=True),
    PodsMatching((Clause(None, with_labels({"app": "web"})),), terminating=True),
    PodsMatching((Clause(None, EVERYTHING),), terminating=True),
    PodsMatching((Clause(None, NOTHING),), terminating=True),
    PodsMatching((Clause(None, EVERYTHING), Clause(ONLY_DEFAULT, with_labels({"app": "db"}))), terminating=True),
]
ABOUT = [
    TermsAbout(label_set_of("default", labels), frozenset(), key, added)
    for labels in ({"app": "web"}, {"app": "web", "pod-index": "1"}, {"app": "db"}, {}, VERY_MANY)
    for key in (ZONE, HOST)
    for added in (
        ((TermKind.REQUIRED_APART, 1),),
        ((TermKind.REQUIRED, 2), (TermKind.PREFERRED, 1), (TermKind.PREFERRED_APART, -1)),
        ((TermKind.REQUIRED, 1), (TermKind.PREFERRED, 1), (TermKind.PREFERRED_APART, -1)),
    )
]


def pods_counted(question: PodsMatching, pod: PodInfo) -> int:
    if pod.terminating and not question.terminating:
        return 0
    return int(
        all(
            (clause.namespaces is None or pod.namespace in clause.namespaces) and clause.selector.picks(pod.labels)
            for clause in question.clauses
        )
    )


def terms_counted(question: TermsAbout, pod: PodInfo) -> int:
    target, total = question.label_set, 0
    for carried in pod.terms.carried:
        term, factor = carried.term, dict(question.added).get(carried.kind, 0)
        if term.topology_key == question.topology_key and term.picks(target.namespace, target.labels, {}):
            total += factor * (carried.weight or 1)
    return total


class Counting(RuleBasedStateMachine):
    """A snapshot whose tallies are few, so that they are dropped and asked for again."""

    def __init__(self) -> None:
        super().__init__()
        self.snapshot = Snapshot()
        self.pods: dict[str, tuple[PodInfo, str]] = {}
        self.made = 0

    @initialize(limit=st.integers(1, 20))
    def begin(self, limit: int) -> None:
        for tallies in (self.snapshot.relations.labels, self.snapshot.relations.terms):
            tallies._limit = limit

    @rule(name=st.sampled_from(NODES), zone=st.sampled_from(("a", "b", None)))
    def set_node(self, name: str, zone: str | None) -> None:
        node = make_node(name)
        self.snapshot.set_node(msgspec.convert(node.zone(zone) if zone else node, Node))

    @rule(name=st.sampled_from(NODES))
    def remove_node(self, name: str) -> None:
        self.snapshot.remove_node(name)

    @rule(kind=st.sampled_from(KINDS), namespace=st.sampled_from(("default", "other")), node=st.sampled_from(NODES))
    def add_pod(self, kind: Callable[[PodDict], PodDict], namespace: str, node: str) -> None:
        self.made += 1
        pod = info(kind(make_pod(f"p{self.made}", namespace=namespace)))
        self.snapshot.add_pod(pod, node)
        self.pods[pod.uid] = (pod, node)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def remove_pod(self, data: st.DataObject) -> None:
        pod, node = self.pods.pop(data.draw(st.sampled_from(sorted(self.pods))))
        self.snapshot.remove_pod(pod, node)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), labels=st.sampled_from(({"app": "web"}, {"app": "db"}, {})), ends=st.booleans())
    def relabel(self, data: st.DataObject, labels: Mapping[str, str], ends: bool) -> None:
        before, node = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        stamp = "2026-01-01T00:00:00Z" if ends else None
        meta = msgspec.structs.replace(before.pod.metadata, labels=dict(labels), deletion_timestamp=stamp)
        after = PodInfo(msgspec.structs.replace(before.pod, metadata=meta))
        self.snapshot.refresh_pod(after, node)
        self.pods[after.uid] = (after, node)

    @rule(kind=st.sampled_from(KINDS), nodes=st.lists(st.sampled_from(NODES), max_size=3))
    def try_pods(self, kind: Callable[[PodDict], PodDict], nodes: list[str]) -> None:
        with self.snapshot.trial():
            for number, node in enumerate(nodes):
                self.snapshot.add_pod(info(kind(make_pod(f"tried-{number}"))), node)
            self.look(QUESTIONS[0], ABOUT[0], HOST)

    @rule(question=st.sampled_from(QUESTIONS), about=st.sampled_from(ABOUT), key=st.sampled_from((ZONE, HOST)))
    def look(self, question: PodsMatching, about: TermsAbout, key: str) -> None:
        relations = self.snapshot.relations
        looks: list[tuple[Tally, Callable[[PodInfo], int]]] = [
            (relations.labels.tally(question), partial(pods_counted, question)),
            (relations.terms.tally(about), partial(terms_counted, about)),
        ]
        for tally, count in looks:
            on_row: Counter[int] = Counter()
            for row, pods in enumerate(self.snapshot.pods):
                for pod in pods.values():
                    on_row[row] += count(pod)
            assert tally.counts[: self.snapshot.height].tolist() == [on_row[row] for row in range(self.snapshot.height)]
            domains = tally.domains(self.snapshot, key)
            sums: Counter[str] = Counter()
            nodes: Counter[str] = Counter()
            for row in self.snapshot.live_rows().tolist():
                node = self.snapshot.nodes[row]
                value = None if node is None else node.metadata.labels.get(key)
                if value is not None:
                    sums[value] += on_row[row]
                    nodes[value] += 1
            values = self.snapshot.labels.column(key).values
            known = {values[index]: index for index in range(1, len(values))}
            assert {value: int(domains.sums[index]) for value, index in known.items() if domains.sums[index]} == {
                value: count for value, count in sums.items() if count
            }
            assert {value: int(domains.nodes[index]) for value, index in known.items() if domains.nodes[index]} == nodes
            assert domains.sums[ABSENT] == domains.nodes[ABSENT] == 0

    @invariant()
    def every_tally_is_the_sum_of_its_pods(self) -> None:
        relations = self.snapshot.relations
        assert not [*relations.labels.wrong(), *relations.terms.wrong()]
        for tallies in (relations.labels, relations.terms):
            followed: Any = tallies
            changed = {tally for known in followed._known.values() for tally in known.tallies}
            assert changed <= set(followed._asked.values())
            asked: Counter[Tally] = Counter(followed._asked.values())
            assert {tally: tally.questions for tally in asked} == asked
        carried = Counter(
            (each.kind, each.term.topology_key) for pod, _ in self.pods.values() for each in pod.terms.carried
        )
        for kind in TermKind:
            assert set(relations.topology_keys(kind)) == {key for of, key in carried if of is kind}


TestCounting = Counting.TestCase
TestCounting.settings = settings(max_examples=60, stateful_step_count=30)


def tallies(limit: int) -> Tallies[LabelSet]:
    return Tallies(8, keys_of=lambda trait: (*trait.labels.items(), ANY), limit=limit)


def asking_for(number: int) -> PodsMatching:
    return PodsMatching((Clause(None, with_labels({"job": str(number)})),), terminating=True)


def sizes(kept: Tallies[LabelSet]) -> list[int]:
    """How much is kept of traits, of questions, and of the keys of both."""
    inner: Any = kept
    return [len(inner._known), len(inner._asked), len(inner._traits), len(inner._questions)]


def test_tallies_that_are_not_asked_for_any_more_are_forgotten() -> None:
    kept = tallies(limit=10)
    for number in range(100):
        kept.add(label_set_of("default", {"job": str(number)}), 0)
        assert kept.tally(asking_for(number)).counts[0] == 1
    assert sizes(kept) == [100, 10, 101, 11]  # each is found by its label, and all by pods that have very many
    for number in range(100):
        kept.remove(label_set_of("default", {"job": str(number)}), 0)
    assert sizes(kept) == [0, 10, 0, 11]


def test_questions_that_pick_no_trait_take_no_memory_for_each_node() -> None:
    snapshot = Snapshot()
    for number in range(2_000):
        snapshot.set_node(msgspec.convert(make_node(f"n{number}"), Node))
    pods = [info(make_pod(f"p{number}").labels(job=str(number))) for number in range(200)]
    for pod in pods:
        snapshot.add_pod(pod, "n0")

    def look(first: int) -> int:
        """The bytes that stay of 200 questions, and of the sums over all hosts."""
        tracemalloc.start()
        for number in range(first, first + 200):
            assert not snapshot.relations.labels.tally(asking_for(number)).domains(snapshot, HOST).sums[2:].any()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return kept

    with_pods = look(0)
    assert with_pods > 200 * 2_000 * 12
    assert look(200) < with_pods / 10
    for pod in pods:
        snapshot.remove_pod(pod, "n0")
    tallies = [snapshot.relations.labels.tally(asking_for(number)) for number in range(400)]
    assert all(tally.counts.base is not None and tally.counts.base.nbytes == 4 for tally in tallies)


def test_a_question_counts_from_its_first_trait_to_its_last() -> None:
    kept, question = tallies(limit=100), asking_for(1)
    assert not kept.tally(question).counts.any()
    for _ in range(2):
        kept.add(label_set_of("default", {"job": "1"}), 3)
        kept.grow(len(kept.tally(question).counts) * 2)
        assert kept.tally(question).counts[3] == 1
        kept.remove(label_set_of("default", {"job": "1"}), 3)
        kept.grow(len(kept.tally(question).counts) * 2)
        assert not kept.tally(question).counts.any()
    assert len(kept.tally(question).counts) == 8 * 16


def test_a_question_that_was_forgotten_is_answered_anew() -> None:
    kept = tallies(limit=2)
    kept.add(label_set_of("default", {"job": "1"}), 3)
    for number in (1, 2, 3, 1):
        assert kept.tally(asking_for(number)).counts[3] == int(number == 1)


def test_removing_a_pod_that_is_not_counted_is_refused() -> None:
    with pytest.raises(KeyError):
        tallies(limit=1).remove(label_set_of("default", {}), 0)


def test_tallies_grow_with_the_snapshot() -> None:
    snapshot = Snapshot()
    question = PodsMatching((Clause(None, EVERYTHING),), terminating=True)
    before = snapshot.relations.labels.tally(question).domains(snapshot, HOST)
    assert not before.sums.any()
    for number in range(200):
        snapshot.set_node(msgspec.convert(make_node(f"n{number}"), Node))
        snapshot.add_pod(info(make_pod(f"p{number}")), f"n{number}")
    tally = snapshot.relations.labels.tally(question)
    assert tally.counts[:200].tolist() == [1] * 200
    assert np.count_nonzero(tally.domains(snapshot, HOST).sums == 1) == 200


def test_where_pods_of_a_kind_are_is_gathered_once_for_all_questions() -> None:
    tallies: Tallies[LabelSet] = Tallies(1_000, keys_of=lambda trait: (ANY,))
    kinds = [info(make_pod("web").labels(kind=str(number))).label_set for number in range(100)]
    for row in range(1_000):
        tallies.add(kinds[row % 100], row)

    def ask(value: str) -> int:
        """How many calls it takes to answer a new question, which is about all kinds but one."""
        others = read_selector(LabelSelector(match_expressions=(LabelSelectorRequirement("kind", "NotIn", (value,)),)))
        with counted() as work:
            tally = tallies.tally(PodsMatching((Clause(None, others),), terminating=True))
        assert np.count_nonzero(tally.counts) == 990
        return work.calls

    first, second = ask("1"), ask("2")
    assert second <= first - 2 * len(kinds)
    for row in range(1_000):
        tallies.remove(kinds[row % 100], row)
        tallies.add(kinds[row % 100], row)
    assert ask("3") >= second + 2 * len(kinds) - 2


def test_equal_selectors_share_a_tally() -> None:
    kept = tallies(limit=10)
    one, other = with_labels({"app": "web"}), Selector(with_labels({"app": "web"}).requirements)
    asked = [PodsMatching((Clause(None, selector),), terminating=True) for selector in (one, other)]
    assert kept.tally(asked[0]) is kept.tally(asked[1])


def about(number: int) -> TermsAbout:
    """Asks for anti-affinity by host about a pod with a label of its own."""
    labels = {"app": "db", "pod-index": str(number)}
    return TermsAbout(label_set_of("default", labels), frozenset(), HOST, ((TermKind.REQUIRED_APART, 1),))


def test_a_pod_costs_no_more_after_many_questions_about_pods_with_a_label_of_their_own_each() -> None:
    snapshot = Snapshot()
    snapshot.set_node(msgspec.convert(make_node("n0"), Node))

    def cost(number: int) -> int:
        """How many calls it takes to count one more pod."""
        with counted() as work:
            snapshot.add_pod(info(make_pod(f"p{number}").labels(app="db").apart(HOST, {"app": "db"})), "n0")
        return work.calls

    cost(0)
    assert snapshot.relations.terms.tally(about(0)).counts[0] == 1
    alone = cost(1)
    tallies = {snapshot.relations.terms.tally(about(number)) for number in range(1, 500)}
    assert cost(2) == alone
    assert [tally.counts[0] for tally in tallies] == [3]


def test_questions_part_when_a_pod_has_a_term_about_one_of_them() -> None:
    snapshot = Snapshot()
    snapshot.set_node(msgspec.convert(make_node("n0"), Node))
    terms = snapshot.relations.terms
    snapshot.add_pod(info(make_pod("any").apart(HOST, {"app": "db"})), "n0")
    assert terms.tally(about(1)) is terms.tally(about(2))

    snapshot.add_pod(info(make_pod("first").apart(HOST, {"pod-index": "1"})), "n0")
    assert [terms.tally(about(number)).counts[0] for number in (1, 2)] == [2, 1]
    snapshot.add_pod(info(make_pod("other").apart(HOST, {"app": "db"})), "n0")
    assert [terms.tally(about(number)).counts[0] for number in (1, 2)] == [3, 2]


def test_a_shared_tally_is_followed_until_its_last_question_is_forgotten() -> None:
    kept = tallies(limit=2)
    web = label_set_of("default", {"app": "web"})
    kept.add(web, 3)
    asked = [
        PodsMatching((Clause(namespaces, with_labels({"app": "web"})),), terminating=True)
        for namespaces in (None, ONLY_DEFAULT)
    ]
    shared = kept.tally(asked[0])
    assert kept.tally(asked[1]) is shared

    kept.tally(asking_for(1))
    kept.add(web, 5)
    assert shared.questions == 1
    assert [shared.counts[3], shared.counts[5]] == [1, 1]
    kept.tally(asking_for(2))
    kept.add(web, 5)
    assert not shared.questions
    assert shared.counts[5] == 1


def test_questions_that_weigh_a_term_differently_do_not_share_a_tally() -> None:
    snapshot = Snapshot()
    snapshot.set_node(msgspec.convert(make_node("n0"), Node))
    web = label_set_of("default", {"app": "web"})
    weights = [(hard, preferred) for hard in (1, 2) for preferred in (1, 5)]

    def counts() -> list[int]:
        asked = [((TermKind.REQUIRED, hard), (TermKind.PREFERRED, preferred)) for hard, preferred in weights]
        questions = [TermsAbout(web, frozenset(), ZONE, added) for added in asked]
        return [snapshot.relations.terms.tally(question).counts[0] for question in questions]

    snapshot.add_pod(info(make_pod("soft").near(ZONE, {"app": "web"}, weight=3)), "n0")
    assert counts() == [3 * preferred for _, preferred in weights]
    snapshot.add_pod(info(make_pod("hard").near(ZONE, {"app": "web"})), "n0")
    assert counts() == [hard + 3 * preferred for hard, preferred in weights]


def test_questions_that_pick_the_same_again_share_a_tally() -> None:
    kept = tallies(limit=10)
    web, front = {"app": "web"}, {"app": "web", "tier": "front"}
    for labels in (web, front):
        kept.add(label_set_of("default", labels), 0)
    every, ours = (
        PodsMatching((Clause(namespaces, with_labels({"app": "web"})),), terminating=True)
        for namespaces in (None, ONLY_DEFAULT)
    )
    before = kept.tally(every)
    kept.remove(label_set_of("default", front), 0)
    assert kept.tally(ours) is before


def test_a_tally_to_share_is_found_at_a_cost_that_other_questions_hardly_add_to() -> None:
    kept = Tallies[LabelSet](8, keys_of=lambda trait: (ANY,))
    kinds = [label_set_of("default", {"kind": str(number)}) for number in range(200)]
    for kind in kinds:
        kept.add(kind, 0)

    def ask(value: int) -> int:
        """How many calls it takes to answer a question that is about all kinds but one."""
        requirement = LabelSelectorRequirement("kind", "NotIn", (str(value),))
        others = read_selector(LabelSelector(match_expressions=(requirement,)))
        with counted() as work:
            kept.tally(PodsMatching((Clause(None, others),), terminating=True))
        return work.calls

    ask(0)
    second, *_, last = [ask(value) for value in range(1, 100)]
    assert last <= second + len(kinds)
