"""The membership book: which pods are members of which group, and what the groups have in sum."""

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.groups import GROUP_LABELS
from muster.framework.groups.members import Members
from muster.framework.groups.record import EndedMember, GroupRecord, MemberCounts
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.operator.kube.store import Store
from muster.operator.podgroups.ended_pods import EndedPod, EndedPods
from muster.plugins.coscheduling.api import group_key
from muster.plugins.coscheduling.kind import POD_GROUP_KIND

CURRENT, SIGS, MING = GROUP_LABELS
TRAIN = "ml/train"


def plain(version: int = 1, *, uid: str = "u", labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A pod of the group `train`, unless its labels say otherwise."""
    metadata = {
        "name": f"pod-{uid}",
        "namespace": more.get("namespace", "ml"),
        "uid": uid,
        "resourceVersion": str(version),
        "labels": {CURRENT: "train"} if labels is None else labels,
        "ownerReferences": [{"kind": "Job", "name": owner} for owner in more.get("owners", ())],
    }
    if more.get("deleting"):
        metadata["deletionTimestamp"] = "2026-11-21T10:00:00Z"
    spec = {"nodeName": more["node"]} if more.get("node") else {}
    return {"metadata": metadata, "spec": spec, "status": {"phase": more.get("phase", "Pending")}}


def pod(version: int = 1, **more: Any) -> PodInfo:
    return PodInfo(msgspec.convert(plain(version, **more), Pod))


def ended(version: int = 1, **more: Any) -> EndedPod:
    return msgspec.convert(plain(version, **more), EndedPod)


def book(*pods: PodInfo) -> Members[GroupRecord[Any]]:
    members: Members[GroupRecord[Any]] = Members(group_key, GroupRecord)
    for each in pods:
        members.follow(None, each)
    return members


def endings(members: Members[GroupRecord[Any]]) -> Store[Any]:
    """Gives the book what the watch of ended pods knows."""
    return Store(EndedPods(POD_GROUP_KIND.named_by, members.follow_ended))


@pytest.mark.parametrize(
    ("of", "counts"),
    [
        (pod(), MemberCounts(pods=1)),
        (pod(node="n1"), MemberCounts(pods=1, scheduled=1)),
        (pod(phase="Running", node="n1"), MemberCounts(pods=1, scheduled=1, running=1)),
        (pod(phase="Unknown", node="n1"), MemberCounts(pods=1, scheduled=1)),
        (pod(phase="Running", node="n1", deleting=True), MemberCounts()),
    ],
)
def test_a_pod_that_has_not_ended_counts_by_node_and_phase(of: PodInfo, counts: MemberCounts) -> None:
    assert book(of).record(TRAIN).counts() == counts


@pytest.mark.parametrize("deleting", [False, True])
@pytest.mark.parametrize(
    ("phase", "counts"),
    [("Succeeded", MemberCounts(pods=1, scheduled=1, succeeded=1)), ("Failed", MemberCounts(pods=1, failed=1))],
)
def test_a_pod_that_has_ended_counts_until_it_is_gone(phase: str, counts: MemberCounts, deleting: bool) -> None:
    members = book()
    store = endings(members)
    store.put(ended(phase=phase, node="n1", deleting=deleting))
    assert members.record(TRAIN).counts() == counts
    store.remove("ml/pod-u")
    assert members.record(TRAIN).counts() == MemberCounts()
    assert not members.record(TRAIN).has_members


@pytest.mark.parametrize("first", ["the end", "the leaving"])
def test_a_pod_that_ends_is_counted_once_whichever_watch_reports_it_first(first: str) -> None:
    running = pod(phase="Running", node="n1")
    members = book(running)
    store = endings(members)
    if first == "the end":
        store.put(ended(2, phase="Succeeded", node="n1"))
        assert members.record(TRAIN).counts() == MemberCounts(pods=1, scheduled=1, succeeded=1)
        assert members.record(TRAIN).owners() == ""
        members.follow(running, None)
    else:
        members.follow(running, None)
        assert [*members.record(TRAIN).unaccounted] == ["u"]
        store.put(ended(2, phase="Succeeded", node="n1"))
    assert not members.record(TRAIN).unaccounted
    assert members.record(TRAIN).counts() == MemberCounts(pods=1, scheduled=1, succeeded=1)


def test_a_pod_that_was_deleted_at_once_is_unaccounted_for_until_it_is_written_off() -> None:
    members = book(pod(node="n1"))
    members.follow(pod(node="n1"), None)
    assert members.record(TRAIN).counts() == MemberCounts()
    assert [*members.record(TRAIN).unaccounted] == ["u"]
    members.write_off(TRAIN, "u")
    assert not members.record(TRAIN).unaccounted
    assert not members.record(TRAIN).has_members


def test_a_pod_that_was_being_deleted_is_never_unaccounted_for() -> None:
    members = book(pod(node="n1"))
    members.follow(pod(node="n1"), pod(2, node="n1", deleting=True))
    members.follow(pod(2, node="n1", deleting=True), None)
    assert not members.record(TRAIN).unaccounted


def test_only_changes_that_count_are_reported() -> None:
    members, first, second = book(), pod(1), pod(2)
    running = pod(3, phase="Running", node="n1")
    assert members.follow(None, first)
    assert not members.follow(first, second)
    assert members.follow(second, running)
    assert members.follow(running, None)
    assert not members.follow(None, pod(uid="v", labels={}))


@given(st.dictionaries(st.sampled_from(GROUP_LABELS), st.sampled_from(["", "a", "b"])))
def test_a_pod_that_ended_is_a_member_of_the_group_that_it_was_in(labels: dict[str, str]) -> None:
    members = book()
    endings(members).put(ended(labels=labels, phase="Failed"))
    group = group_key(pod(labels=labels))
    counted = [each for each in ("ml/a", "ml/b") if members.record(each).counts() == MemberCounts(pods=1, failed=1)]
    assert counted == ([] if group is None else [group])


@pytest.mark.parametrize(
    ("reported", "counts"), [(False, MemberCounts(pods=1)), (True, MemberCounts(pods=1, scheduled=1))]
)
def test_a_member_that_was_bound_and_is_never_reported_has_no_node_any_more(
    reported: bool, counts: MemberCounts
) -> None:
    waiting = pod()
    members = book(waiting)
    members.count_placed(waiting)
    members.count_bound(waiting)
    if reported:
        members.follow(waiting, pod(2, node="n1"))
    members.count_expired(waiting)
    assert members.record(TRAIN).counts() == counts
    assert (len(members.record(TRAIN).placed), len(members.record(TRAIN).bound)) == (int(reported), int(reported))


def test_a_pod_of_the_same_name_is_another_member() -> None:
    members = book()
    store = endings(members)
    store.put(ended(1, phase="Failed"))
    members.follow(None, pod(2, uid="v"))
    assert members.record(TRAIN).counts() == MemberCounts(pods=2, failed=1)


@pytest.mark.parametrize("phase", ["Pending", "Failed"])
def test_a_pod_may_change_its_group(phase: str) -> None:
    members = book()
    store = endings(members)
    moved = {"labels": {CURRENT: "other"}, "phase": phase}
    if phase == "Failed":
        store.put(ended(1, phase=phase))
        store.put(ended(2, **moved))
    else:
        members.follow(None, pod(1))
        members.follow(pod(1), pod(2, **moved))
    assert members.record(TRAIN).counts() == MemberCounts()
    assert members.record("ml/other").counts().pods == 1
    assert not members.record(TRAIN).unaccounted


def test_groups_of_one_name_in_two_namespaces_have_nothing_to_do_with_each_other() -> None:
    members = book(pod(uid="1", namespace="one", phase="Running", node="n1"), pod(uid="2", namespace="two", node="n1"))
    assert members.record("one/train").counts() == MemberCounts(pods=1, scheduled=1, running=1)
    assert members.record("two/train").counts() == MemberCounts(pods=1, scheduled=1)


def test_owners_are_sorted_and_named_once_and_go_with_their_last_member() -> None:
    first, second = pod(uid="1", owners=["b", "a"]), pod(uid="2", owners=["b"])
    members = book(first, second)
    assert members.record(TRAIN).owners() == "ml/a,ml/b"
    members.follow(first, None)
    assert members.record(TRAIN).owners() == "ml/b"
    members.follow(second, None)
    assert members.record(TRAIN).owners() == ""


def test_the_first_sixteen_of_very_many_owners_are_named() -> None:
    members = book(*(pod(uid=str(number), owners=[f"job-{number:03}"]) for number in range(1000)))
    assert members.record(TRAIN).owners() == ",".join(f"ml/job-{number:03}" for number in range(16))


steps = st.tuples(
    st.sampled_from("abcd"),
    st.sampled_from(["Pending", "Running", "Unknown", "Succeeded", "Failed", "deleted"]),
    st.booleans(),
    st.sampled_from(["train", "other"]),
)


@given(st.lists(steps, max_size=30))
def test_the_book_is_what_a_recount_gives(life: list[tuple[str, str, bool, str]]) -> None:
    members, alive, gone = book(), dict[str, PodInfo](), dict[str, EndedMember]()
    for version, (uid, phase, placed, group) in enumerate(life):
        old, over = alive.get(uid), gone.get(uid)
        if phase in ("Succeeded", "Failed"):
            now = EndedMember(f"ml/{group}", phase == "Succeeded")
            members.follow_ended(uid, over, now)
            gone[uid] = now
        if phase in ("Succeeded", "Failed", "deleted"):
            if old is not None:
                members.follow(alive.pop(uid), None)
            if phase == "deleted" and over is not None:
                members.follow_ended(uid, gone.pop(uid), None)
        elif over is None:
            alive[uid] = pod(version, uid=uid, phase=phase, node="n" if placed else "", labels={CURRENT: group})
            members.follow(old, alive[uid])
    for name in ("train", "other"):
        own = [each for each in alive.values() if group_key(each) == f"ml/{name}"]
        ends = Counter(each.succeeded for each in gone.values() if each.group == f"ml/{name}")
        phases = Counter(each.pod.status.phase for each in own)
        placed_now = sum(bool(each.node_name) for each in own)
        counts = members.record(f"ml/{name}").counts()
        assert (counts.pods, counts.running) == (len(own) + ends.total(), phases["Running"])
        assert (counts.succeeded, counts.failed) == (ends[True], ends[False])
        assert counts.scheduled >= placed_now + ends[True]
