"""Each decision that is recorded says how good the node was, also where one step decides several pods."""

from dataclasses import replace

from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.ports import Ports
from muster.operator.recording.decisions import DecisionListener
from muster.operator.recording.events import Decided, Decision
from tests.builders import make_node, make_pod
from tests.gangscheduling.world import World, make_members

RACK = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}


class ListenedWorld(World):
    """A world whose decisions are heard.

    Attributes:
        decisions: in order.
    """

    def build(self, ports: Ports) -> Engine:
        """The engine, with a listener attached."""
        self.decisions: list[Decision] = []
        listener = DecisionListener(self.decisions.append)
        engine = super().build(replace(ports, pick=listener.pick))
        listener.follow(engine)
        return engine


async def test_members_that_come_together_beyond_the_quorum_are_recorded_with_their_scores() -> None:
    world = ListenedWorld()
    world.add_nodes(*(make_node(name, cpu="8").labels(rack="a") for name in ("one", "two")))
    world.add_group("gang", 2, **RACK)
    world.add(*make_members("gang", 2))
    await world.settle()
    world.add(*make_members("gang", 3, first=2), make_pod("single"))
    await world.settle()

    decided = [each for each in world.decisions if isinstance(each, Decided)]
    assert {each.pod.partition("/")[2] for each in decided if each.node} == {
        *(f"gang-{number}" for number in range(5)),
        "single",
    }
    assert [(each.pod, each.ranking) for each in decided if each.ranking is None] == []
