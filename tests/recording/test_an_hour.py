"""A busy hour: ten thousand pods, gangs and faults, recorded and decided again."""

from pathlib import Path

from muster.operator.recording.comparison import Difference

from .recorded import RecordedScheduler, live, replayed

_MOST_ALLOCATED = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}


async def test_an_hour_replays_byte_for_byte_and_shows_the_effect_of_another_strategy(tmp_path: Path) -> None:
    cluster = RecordedScheduler(tmp_path / "recording", 1)
    await live(cluster, 1, rounds=980, nodes=60, pods=13)
    recording = cluster.end()
    assert cluster.clock.now() > 3500
    comparison = replayed(recording)
    assert comparison.exact, (comparison.own_way, comparison.broken_off)
    assert len(comparison.stories) > 10_000
    changed = replayed(recording, NodeResourcesFit=_MOST_ALLOCATED)
    assert changed.own_way is None
    assert changed.elsewhere > 5000
    assert {difference for difference, _ in changed.differences()} == {Difference.ELSEWHERE}
