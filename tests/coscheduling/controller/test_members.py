"""Which pods are members of which group, and what the groups have in sum."""

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.operator.kube.store import Store
from muster.operator.podgroups.pods import Member, MemberHandler, MemberPod, member_of
from muster.operator.podgroups.tally import Tally
from muster.plugins.coscheduling.api import GROUP_LABELS, group_key
from muster.plugins.coscheduling.phases import Counts

from .groups import member

CURRENT, SIGS, MING = GROUP_LABELS


def pod(version: int = 1, *, uid: str = "u", labels: dict[str, str] | None = None, **more: Any) -> MemberPod:
    """A pod of the group `train`, unless its labels say otherwise."""
    metadata = {
        "name": f"pod-{uid}",
        "namespace": "ml",
        "uid": uid,
        "resourceVersion": str(version),
        "labels": {CURRENT: "train"} if labels is None else labels,
        "ownerReferences": [{"kind": "Job", "name": owner} for owner in more.get("owners", ())],
    }
    if more.get("deleting"):
        metadata["deletionTimestamp"] = "2026-11-21T10:00:00Z"
    spec = {"nodeName": more["node"]} if "node" in more else {}
    body = {"metadata": metadata, "spec": spec, "status": {"phase": more.get("phase", "Pending")}}
    return msgspec.json.decode(msgspec.json.encode(body), type=MemberPod)


def membership(of: MemberPod) -> list[Member]:
    return [found for place in range(len(GROUP_LABELS)) if (found := member_of(of, place)) is not None]


def test_a_pod_adds_its_phase_node_and_owners() -> None:
    (found,) = membership(pod(phase="Running", node="n1", owners=["b", "a"]))
    assert found == Member("ml/train", "Running", True, ("ml/b", "ml/a"))


@pytest.mark.parametrize(
    ("of", "scheduled"),
    [
        (pod(), False),
        (pod(node="n1"), True),
        (pod(phase="Succeeded", node="n1"), True),
        (pod(phase="Failed", node="n1"), False),
        (pod(phase="Unknown", node="n1"), True),
    ],
)
def test_a_pod_is_scheduled_when_it_has_a_node_and_has_not_failed(of: MemberPod, scheduled: bool) -> None:
    assert [found.scheduled for found in membership(of)] == [scheduled]


@pytest.mark.parametrize(("phase", "counts"), [("Pending", 0), ("Running", 0), ("Succeeded", 1), ("Failed", 1)])
def test_a_pod_that_is_being_deleted_counts_only_if_it_has_ended(phase: str, counts: int) -> None:
    assert len(membership(pod(phase=phase, node="n1", deleting=True))) == counts


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_is_owned_by_nobody(phase: str) -> None:
    (found,) = membership(pod(phase=phase, node="n1", owners=["job"]))
    assert found.owners == ()


@given(st.dictionaries(st.sampled_from(GROUP_LABELS), st.sampled_from(["", "a", "b"])))
def test_a_pod_is_a_member_of_the_group_that_the_plugin_takes_it_for(labels: dict[str, str]) -> None:
    plain = {"metadata": {"name": "p", "namespace": "ml", "labels": labels}}
    group = group_key(PodInfo(msgspec.convert(plain, Pod)))
    assert [found.group for found in membership(pod(labels=labels))] == ([] if group is None else [group])


class Journal:
    """Writes down what it hears, and adds it up."""

    def __init__(self) -> None:
        self.heard: list[tuple[str | None, str | None]] = []
        self.tally = Tally()

    def member_changed(self, old: Member | None, new: Member | None) -> None:
        self.heard.append((old.phase if old else None, new.phase if new else None))
        if new is not None:
            self.tally.add(new)
        if old is not None:
            self.tally.remove(old)


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
def store(journal: Journal) -> Store[Any]:
    """What an informer with the current label knows."""
    return Store(MemberHandler(0, journal))


def test_only_changes_that_matter_are_told(journal: Journal, store: Store[Any]) -> None:
    store.put(pod(1))
    store.put(pod(2))
    store.put(pod(3, phase="Running", node="n1"))
    store.remove("ml/pod-u")
    assert journal.heard == [(None, "Pending"), ("Pending", "Running"), ("Running", None)]


def test_a_pod_that_goes_takes_away_what_it_had_added(journal: Journal, store: Store[Any]) -> None:
    store.put(pod(1, phase="Running", node="n1"))
    store.remove("ml/pod-u", pod(2, phase="Running", node="n1", deleting=True))
    assert journal.tally.counts("ml/train") == Counts()


def test_a_pod_of_the_same_name_is_another_member(journal: Journal, store: Store[Any]) -> None:
    store.put(pod(1, phase="Failed"))
    replacement = msgspec.structs.replace(pod(2).metadata, uid="v")
    store.put(msgspec.structs.replace(pod(2), metadata=replacement))
    assert journal.tally.counts("ml/train") == Counts(pods=1)


def test_a_pod_may_change_its_group(journal: Journal, store: Store[Any]) -> None:
    store.put(pod(1))
    store.put(pod(2, labels={CURRENT: "other"}))
    assert journal.tally.counts("ml/train") == Counts()
    assert journal.tally.counts("ml/other") == Counts(pods=1)


def test_groups_of_one_name_in_two_namespaces_have_nothing_to_do_with_each_other() -> None:
    tally = Tally()
    tally.add(member("Running", group="one/train"))
    tally.add(member("Failed", group="two/train"))
    assert tally.counts("one/train") == Counts(pods=1, scheduled=1, running=1)
    assert tally.counts("two/train") == Counts(pods=1, failed=1)


def test_owners_are_sorted_and_named_once_and_go_with_their_last_member() -> None:
    tally = Tally()
    first, second = member(owners=("ml/b", "ml/a")), member(owners=("ml/b",))
    tally.add(first)
    tally.add(second)
    assert tally.owners("ml/train") == "ml/a,ml/b"
    tally.remove(first)
    assert tally.owners("ml/train") == "ml/b"
    tally.remove(second)
    assert tally.owners("ml/train") == ""


def test_of_very_many_owners_the_first_are_named() -> None:
    tally = Tally()
    for number in range(1000):
        tally.add(member(owners=(f"ml/job-{number:03}",)))
    assert tally.owners("ml/train") == ",".join(f"ml/job-{number:03}" for number in range(16))


members = st.builds(
    member,
    st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown"]),
    group=st.sampled_from(["ml/a", "ml/b"]),
    node=st.booleans(),
    owners=st.lists(st.sampled_from(["ml/x", "ml/y"]), unique=True, max_size=2).map(tuple),
)


@given(st.lists(st.tuples(members, st.booleans())))
def test_the_tally_is_what_a_recount_gives(steps: list[tuple[Member, bool]]) -> None:
    tally, present = Tally(), list[Member]()
    for added, then_goes in steps:
        tally.add(added)
        present.append(added)
        if then_goes:
            tally.remove(present.pop(0))
    for group in ("ml/a", "ml/b"):
        own = [each for each in present if each.group == group]
        phases = Counter(each.phase for each in own)
        assert tally.counts(group) == Counts(
            pods=len(own),
            scheduled=sum(each.scheduled for each in own),
            running=phases["Running"],
            succeeded=phases["Succeeded"],
            failed=phases["Failed"],
        )
        assert tally.owners(group) == ",".join(sorted({owner for each in own for owner in each.owners}))
