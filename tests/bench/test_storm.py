"""The benchmark of a storm of retries: its waiting pods, and the metrics that its command reads."""

import asyncio
import json
from collections import Counter

from bench import scale
from bench.hopeless import SIGNATURES, filling, small, waiting
from bench.scale import NAMESPACE, SCHEDULER_NAME
from bench.storm import in_vain
from muster.testing import VirtualScheduler
from muster.testing.engine import configuration_of

_PAGE = """# TYPE scheduler_schedule_attempts_total counter
scheduler_schedule_attempts_total{profile="bench",result="scheduled"} 7.0
scheduler_schedule_attempts_total{profile="bench",result="unschedulable"} 10000.0
"""


def test_pods_of_200_signatures_fit_no_node_that_small_pods_fit() -> None:
    async def play() -> tuple[dict[str, str], Counter[str]]:
        world = VirtualScheduler(configuration=configuration_of(["Coscheduling"], names=[SCHEDULER_NAME]))
        world.add_nodes(*(json.loads(body) for _, body in scale.nodes(6)))
        bodies = [*filling(6), *map(waiting, range(2 * SIGNATURES)), small(0)]
        world.add(*(json.loads(body) for _, body in bodies))
        await world.run(30.0)
        return {key: node for key, node, _ in world.api.bindings}, world.places()

    bound, places = asyncio.run(play())
    assert [*bound] == [f"{NAMESPACE}/small-000000"]
    assert places == {"unschedulable": 2 * SIGNATURES}
    specs = {body.partition(b'"spec"')[2] for _, body in map(waiting, range(2 * SIGNATURES))}
    assert len(specs) == SIGNATURES


def test_failed_attempts_are_read_from_the_page_of_metrics() -> None:
    assert in_vain(_PAGE) == 10_000
    assert in_vain("") == 0
