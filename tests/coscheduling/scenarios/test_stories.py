"""Lives of gangs as a person sees them who has kubectl and nothing else, on both backends."""

from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.scenarios.backend import Backend


async def test_two_of_three_wait_and_say_so_and_the_third_starts_them_all(backend: Backend) -> None:
    backend.add_nodes(make_node("one", cpu="8"))
    backend.add_group("train", 3)
    first, second, third = make_members("train", 3)
    backend.add(first, second)
    for name in ("train-0", "train-1"):
        said = (
            f"0/1 nodes are available: pre-filter pod {name} cannot find enough sibling pods, "
            "current pods number: 2, minMember of group: 3."
        )
        await backend.until_reported(name, said)
        assert said in backend.description(name)
        assert backend.unschedulable(name, "WaitingForPods") == said
    assert backend.nodes() == {}

    backend.add(third)
    assert await backend.until_started("train", 3) == dict.fromkeys(("train-0", "train-1", "train-2"), "one")
    await backend.until(lambda: "Successfully assigned" in backend.description("train-2"))
    assert backend.failures("train-2") == []
    await backend.until(lambda: backend.condition("train") == ("Scheduled", "the 3 pods that it needs are scheduled"))


async def test_three_pods_with_room_for_two_hold_nothing_that_a_smaller_pod_could_use(backend: Backend) -> None:
    backend.add_nodes(make_node("one", cpu="2"))
    backend.add_group("train", 3)
    backend.add(*make_members("train", 3))
    said = (
        f"pod group {backend.namespace}/train is unschedulable, 2 of the 3 members that it needs fit; "
        "with those 2 placed: 0/1 nodes are available: 1 Insufficient cpu."
    )
    for name in ("train-0", "train-1", "train-2"):
        await backend.until_reported(name, said)
        assert await backend.until(lambda name=name: backend.unschedulable(name)) == said  # type: ignore[misc]
    await backend.until(lambda: backend.condition("train") == ("Unschedulable", said))

    backend.add(make_pod("small").requests(cpu="2"))
    assert await backend.until(backend.nodes) == {"small": "one"}
    backend.add_nodes(make_node("two", cpu="3"))
    assert set((await backend.until_started("train", 3)).values()) == {"two"}


async def test_pods_that_come_before_their_podgroup_wait_for_it_and_say_so(backend: Backend) -> None:
    backend.add_nodes(make_node("one", cpu="8"))
    backend.add(*make_members("train", 2))
    said = 'waiting for pods\'s pod group "train" to appear in scheduling queue'
    for name in ("train-0", "train-1"):
        await backend.until(lambda name=name: said in backend.description(name))  # type: ignore[misc]

    backend.add_group("train", 2)
    await backend.until_started("train", 2)


async def test_a_gated_member_holds_the_quorum_that_needs_it_is_named_to_the_others_and_starts_them(
    backend: Backend,
) -> None:
    backend.add_nodes(make_node("one", cpu="8"))
    backend.add_group("train", 3)
    first, second, third = make_members("train", 3)
    backend.add(first, second, third.gate("example.com/quota"))
    assert await backend.until(lambda: backend.unschedulable("train-0", "GatedPods")) == (
        "0/1 nodes are available: pre-filter pod train-0 cannot proceed due to gated pods in the same PodGroup: "
        "train-2."
    )
    assert backend.nodes() == {}

    backend.remove_gates("train-2")
    await backend.until_started("train", 3)


async def test_a_quorum_that_changes_while_the_gang_waits_and_while_it_runs_is_what_counts(backend: Backend) -> None:
    backend.add_nodes(make_node("one", cpu="20"))
    backend.add_group("ray", 5)
    backend.add(*make_members("ray", 3))
    await backend.until_reported("ray-2", "current pods number: 3, minMember of group: 5.")
    backend.change_group("ray", minMember=3)
    running = await backend.until_started("ray", 3)

    backend.change_group("ray", minMember=5)
    backend.add(make_member("fourth", "ray"))
    await backend.until_reported("fourth", "current pods number: 4, minMember of group: 5.")
    assert backend.nodes() == running
    backend.add(make_member("fifth", "ray"))
    await backend.until_started("ray", 5)

    # As after a scale-down of KubeRay, which never updates its PodGroup.
    for name in ("ray-0", "ray-1", "fourth"):
        backend.delete(name)
    backend.add(make_member("again", "ray"))
    await backend.until_reported("again", "current pods number: 3, minMember of group: 5.")
    await backend.until(lambda: backend.condition("ray") == ("WaitingForPods", "3 of 5 pods exist"))
    assert {*backend.nodes()} == {"ray-2", "fifth"}
    backend.change_group("ray", minMember=3)
    await backend.until_started("ray", 3)


async def test_members_that_are_deleted_succeed_or_lose_a_gate_while_siblings_run_are_followed_one_by_one(
    backend: Backend,
) -> None:
    backend.add_nodes(make_node("one", cpu="20"))
    backend.add_group("train", 3)
    backend.add(*make_members("train", 3), make_member("gated", "train").gate("example.com/quota"))
    await backend.until_started("train", 3)
    assert "gated" not in backend.nodes()
    backend.delete("train-1")
    backend.add(make_member("successor", "train"))
    await backend.until_started("train", 3)

    backend.set_phase("train-0", "Succeeded")
    backend.add(make_member("next", "train"))
    await backend.until_started("train", 4)
    backend.remove_gates("gated")
    await backend.until_started("train", 5)
    assert {*backend.nodes()} == {"train-0", "train-2", "successor", "next", "gated"}
