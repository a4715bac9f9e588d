"""No smaller number of pods would do: every set of pods of small random clusters is tried."""

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
    """Three or four nodes with pods on each, a running gang perhaps, and a pod or gang that needs most of a node."""
    left = dict.fromkeys(NAMES[: draw(st.integers(3, 4))], 4)
    found: list[Manifest] = [make_node(name, cpu="4") for name in left]
    for node in left:
        for number, cpu in enumerate(draw(st.lists(st.integers(1, 2), min_size=1, max_size=2))):
            left[node] -= cpu
            found.append(runs(f"p-{node}-{number}", node, str(cpu)).priority(draw(st.integers(0, 2))))
    roomy = [node for node, free in left.items() if free]
    if len(roomy) > 1 and draw(st.booleans()):
        found += running_gang("other", {f"o-{node}": node for node in roomy[:2]}, "1")
    size, cpu = draw(st.integers(1, 2)), draw(st.sampled_from((4, 4, 3)))
    return [*found, *(gang(size, str(cpu)) if size > 1 else [waits("big", str(cpu))])]


async def sets_that_help(manifests: Sequence[Manifest], most: int) -> list[int]:
    """The numbers of pods, up to `most`, in all sets of pods whose moving starts what waits."""
    picture = ClusterPicture(muster(), cluster(*manifests), NOW)
    [target] = targets_in(picture)
    found = []
    async with picture.trial(target) as trial:
        units = picture.survey(trial, target).units
        for chosen in (some for some in _all_sets(units) if _weight(some) <= most):
            pods = pods_in(chosen)
            keep = await trial.nodes_without(pods)
            if keep and await trial.outcome(pods, keep) is not None:
                found.append(_weight(chosen))
    return found


def _all_sets(units: Sequence[MovableUnit]) -> Iterable[tuple[MovableUnit, ...]]:
    return (some for size in range(len(units) + 1) for some in combinations(units, size))


def _weight(units: Iterable[MovableUnit]) -> int:
    return sum(unit.weight for unit in units)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters())
async def test_a_proposal_moves_the_fewest_pods_and_there_is_one_if_up_to_three_pods_would_do(
    manifests: list[Manifest],
) -> None:
    report = await propose(ClusterPicture(muster(), cluster(*manifests), NOW), DefragQuestion())
    proposal = report.proposal
    helping = await sets_that_help(manifests, 3 if proposal is None else len(proposal.moves))
    if proposal is None:
        assert not helping or helping[0] == 0, report
    else:
        assert min(helping) == len(proposal.moves)
        assert proposal.fewest


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters())
async def test_after_the_moves_no_node_holds_more_than_it_offers(manifests: list[Manifest]) -> None:
    objects = cluster(*manifests)
    report = await propose(ClusterPicture(muster(), objects, NOW), DefragQuestion())
    if report.proposal is None:
        return
    new = {each.pod: each.to for each in report.proposal.moves} | dict(report.proposal.started)
    used = dict.fromkeys((node.metadata.name for node in objects.nodes), 0)
    for pod in objects.pods:
        name = new.get(pod.metadata.key, pod.spec.node_name)
        if name:
            used[name] += int(pod.spec.containers[0].resources.requests["cpu"])
    for node in objects.nodes:
        assert used[node.metadata.name] <= int(node.status.allocatable["cpu"])
    assert all(each.to not in report.proposal.keep for each in report.proposal.moves)
