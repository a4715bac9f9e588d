"""No smaller number of pods would do: small random clusters against every set of pods, tried on an engine of its own."""

from collections.abc import Iterable, Sequence
from itertools import combinations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.operator.defrag.movable import MovableUnit
from muster.operator.defrag.planner import propose, targets_in
from muster.operator.defrag.question import ClusterPicture, DefragQuestion, pods_in
from tests.builders import make_node
from tests.simulate.rehearsing import muster

from .world import NOW, Manifest, cluster, gang, running_gang, runs, waits

NAMES = ("one", "two", "three", "four")


@st.composite
def clusters(draw: st.DrawFn) -> list[Manifest]:
    """Up to four nodes with up to seven pods, a running gang perhaps, and a pod or a gang that waits."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=2, max_size=4))
    left = dict(zip(NAMES, sizes, strict=False))
    found: list[Manifest] = [make_node(name, cpu=str(cpu)) for name, cpu in left.items()]
    for number in range(draw(st.integers(0, 7))):
        node, cpu = draw(st.sampled_from(sorted(left))), draw(st.integers(1, 2))
        if left[node] >= cpu:
            left[node] -= cpu
            found.append(runs(f"p-{number}", node, str(cpu)).priority(draw(st.integers(0, 2))))
    roomy = [node for node, free in left.items() if free]
    if len(roomy) > 1 and draw(st.booleans()):
        chosen = roomy[:2]
        found += running_gang("other", {f"o-{node}": node for node in chosen}, "1")
    wanted = draw(st.integers(1, 2)), str(draw(st.integers(1, 4)))
    return [*found, *(gang(*wanted) if wanted[0] > 1 else [waits("big", wanted[1])])]


async def fewest(manifests: Sequence[Manifest]) -> int | None:
    """The least number of pods whose moving starts what waits, found by trying all sets; None if no set does."""
    picture = ClusterPicture(muster(), cluster(*manifests), NOW)
    [target] = targets_in(picture)
    async with picture.trial(target) as trial:
        units = picture.survey(trial, target).units
    for chosen in sorted(_all_sets(units), key=_weight):
        async with picture.trial(target) as trial:
            pods = pods_in(chosen)
            keep = await trial.nodes_without(pods)
            if keep and await trial.outcome(pods, keep) is not None:
                return _weight(chosen)
    return None


def _all_sets(units: Sequence[MovableUnit]) -> Iterable[tuple[MovableUnit, ...]]:
    return (some for size in range(len(units) + 1) for some in combinations(units, size))


def _weight(units: Iterable[MovableUnit]) -> int:
    return sum(unit.weight for unit in units)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters())
async def test_a_proposal_moves_the_fewest_pods_and_there_is_one_if_any_set_of_pods_helps(
    manifests: list[Manifest],
) -> None:
    least = await fewest(manifests)
    report = await propose(ClusterPicture(muster(), cluster(*manifests), NOW), DefragQuestion())
    if not least:
        assert report.proposal is None
        return
    assert report.proposal is not None, report
    assert len(report.proposal.moves) == least
    assert report.proposal.fewest


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters())
async def test_after_the_moves_no_node_holds_more_than_it_offers(manifests: list[Manifest]) -> None:
    objects = cluster(*manifests)
    report = await propose(ClusterPicture(muster(), objects, NOW), DefragQuestion())
    if report.proposal is None:
        return
    new = {each.pod: each.to for each in report.proposal.moves} | dict(report.proposal.started)
    used = dict.fromkeys((node.metadata.name for node in objects.nodes), 0)
    for pod in objects.pods:
        node = new.get(pod.metadata.key, pod.spec.node_name)
        if node:
            used[node] += int(pod.spec.containers[0].resources.requests["cpu"])
    for node in objects.nodes:
        assert used[node.metadata.name] <= int(node.status.allocatable["cpu"])
    assert all(each.to not in report.proposal.keep for each in report.proposal.moves)
