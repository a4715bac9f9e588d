"""A gang evicts pods for any of its members, not just for the first ones or the first of equal specs."""

from collections import Counter

import pytest

from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.member_rows import MemberRows
from tests.builders import PodDict, make_node, require
from tests.coscheduling.objects import make_member
from tests.scheduler.played_extender import PlayedExtender, only
from tests.storage import HOSTNAME, make_claim, make_volume

from .evicting import EvictingWorld, Extended

NODES = ("one", "two")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the nodes that could take each member were looked for."""
    asked: Counter[str] = Counter()
    ask = MemberRows._ask

    def counting(self: MemberRows, pod: PodInfo) -> object:
        asked[pod.name] += 1
        return ask(self, pod)

    monkeypatch.setattr(MemberRows, "_ask", counting)
    return asked


def full(world: EvictingWorld) -> None:
    """Two nodes come, each with a pod, and a volume that only it reaches; and a node that takes no pod."""
    world.add_nodes(make_node("none").unschedulable())
    for name in NODES:
        here = {"matchExpressions": [require(HOSTNAME, "In", name)]}
        world.add_nodes(make_node(name, cpu="2").labels({HOSTNAME: name}))
        world.api.put(
            "persistentvolumes", make_volume(f"of-{name}", nodeAffinity={"required": {"nodeSelectorTerms": [here]}})
        )
        world.api.put("persistentvolumeclaims", make_claim(f"of-{name}", volume=f"of-{name}"))
        world.fill(name, 1)


def member(number: int) -> PodDict:
    """A member that does not go where a pod of low priority is."""
    return make_member(f"train-{number}", "train", cpu="500m").priority(10).apart(HOSTNAME, {"app": "low"})


def low(world: EvictingWorld) -> None:
    """The running pods are of the app that members stay away from."""
    for key in [*world.api.pods]:
        world.api.change("pods", key, lambda pod: pod["metadata"].setdefault("labels", {}).update(app="low"))


@pytest.mark.parametrize("more", [{}, {"memory": "1Mi"}], ids=["of one spec", "of two specs"])
async def test_a_gang_evicts_pods_on_the_nodes_of_all_its_members_volumes(
    world: EvictingWorld, asked: Counter[str], more: dict[str, str]
) -> None:
    full(world)
    low(world)
    await world.settle()
    world.add_group("train", 2)
    members = world.add(member(0).claim("of-one"), member(1).requests(more).claim("of-two"))
    await world.run(30)

    assert sorted(world.evicted) == ["default/low-one-0-0", "default/low-two-0-0"]
    assert [world.node_of(key) for key in members] == [*NODES]
    assert asked == {"train-0": 1, "train-1": 1}


async def test_an_extender_is_asked_about_the_nodes_of_all_members_volumes() -> None:
    world = Extended(PlayedExtender(filters=only(*NODES), pods="train"))
    full(world)
    low(world)
    await world.settle()
    world.add_group("train", 2)
    members = world.add(member(0).claim("of-one"), member(1).claim("of-two"))
    await world.run(30)

    assert [world.node_of(key) for key in members] == [*NODES]
    await world.kill()


@pytest.mark.parametrize("claim", ["", "of-one"])
async def test_equal_members_are_asked_about_once(world: EvictingWorld, asked: Counter[str], claim: str) -> None:
    full(world)
    low(world)
    await world.settle()
    world.add_group("train", 3)
    members = [member(number) for number in range(3)]
    world.add(*(each.claim(claim) if claim else each for each in members))
    await world.run(30)

    assert len(world.bound("train")) == 3
    assert asked == {"train-0": 1}


async def test_members_whose_labels_differ_are_asked_about_once_if_only_their_spec_excludes_nodes(
    world: EvictingWorld, asked: Counter[str]
) -> None:
    full(world)
    low(world)
    await world.settle()
    world.add_group("train", 3)
    world.add(*(member(number).labels(rank=str(number)) for number in range(3)))
    await world.run(30)

    assert len(world.bound("train")) == 3
    assert asked == {"train-0": 1}


@pytest.mark.parametrize("hopeless", [0, 1])
async def test_a_gang_evicts_a_pod_for_the_member_that_this_helps(world: EvictingWorld, hopeless: int) -> None:
    world.add_nodes(make_node("one", cpu="2"))
    victims = world.fill("one", 2)
    await world.settle()
    world.add_group("train", 1)
    members = [make_member(f"train-{number}", "train", cpu="2").priority(10) for number in range(2)]
    members[hopeless].node_selector({"no": "where"})
    keys = world.add(*members)
    await world.run(30)

    assert sorted(world.evicted) == victims
    assert world.bound("train") == [keys[1 - hopeless]]
