"""Scores are read from kube-scheduler's log and from Muster's recording as these are written."""

from pathlib import Path

from tests.parity.choices import Choice, Recorded, SchedulerLog

LOG = """
I1 schedule_one.go:117] "Attempting to schedule pod" pod="ns/one"
I1 schedule_one.go:1052] "Calculated node's final score for pod" pod="ns/one" node="a" score=300
I1 schedule_one.go:1052] "Calculated node's final score for pod" pod="ns/one" node="gone" score=900
I1 schedule_one.go:117] "Attempting to schedule pod" pod="ns/one"
I1 schedule_one.go:1052] "Calculated node's final score for pod" pod="ns/one" node="a" score=310
I1 schedule_one.go:1052] "Calculated node's final score for pod" pod="ns/one" node="b" score=310
I1 schedule_one.go:1052] "Calculated node's final score for pod" pod="ns/one" node="c" score=-4
I1 schedule_one.go:117] "Attempting to schedule pod" pod="ns/alone"
I1 pg.go:126] "Attempting to schedule pod group" podGroupType="podgroup" podGroup="ns/gang"
I1 pg.go:661] "Attempting to schedule a pod belonging to a pod group" podGroup="ns/gang" pod="ns/g-0"
I1 schedule_one.go:1052] "Calculated node's final score for pod" pod="ns/g-0" node="r1a" score=100
I1 schedule_one.go:1052] "Calculated node's final score for pod" pod="ns/g-0" node="r1b" score=50
I1 pg.go:661] "Attempting to schedule a pod belonging to a pod group" podGroup="ns/gang" pod="ns/g-0"
I1 schedule_one.go:1052] "Calculated node's final score for pod" pod="ns/g-0" node="r2a" score=70
I1 schedule_one.go:1052] "Calculated node's final score for pod" pod="ns/g-0" node="r2b" score=70
I1 pg.go:1212] "Calculated placement's final score for podGroup" podGroup="ns/gang" placement="r1" score=150
I1 pg.go:1212] "Calculated placement's final score for podGroup" podGroup="ns/gang" placement="r2" score=175
"""


def test_the_last_attempt_in_the_placement_of_the_node_has_its_score(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(LOG)
    log = SchedulerLog(path)
    assert log.choice("ns/one", "a") == Choice(310, 3, 2)
    assert log.choice("ns/one", "gone") is None
    assert log.choice("ns/alone", "a") is None
    assert log.choice("ns/g-0", "r1b") == Choice(50, 2, 1)
    assert log.choice("ns/g-0", "r2a") == Choice(70, 2, 2)
    assert log.placements("ns/gang") == {"r1": 150, "r2": 175}


def test_a_later_cycle_is_the_one_that_counts_and_a_line_that_is_cut_off_is_read_when_it_is_whole(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log"
    begun = 'I1 "Attempting to schedule pod group" podGroupType="podgroup" podGroup="ns/gang"\n'
    path.write_text(LOG + begun + 'I1 "Attempting to schedule a pod belonging to a pod group" podGroup="ns/gang"')
    log = SchedulerLog(path)
    assert log.choice("ns/g-0", "r2a") == Choice(70, 2, 2)
    assert log.placements("ns/gang") == {"r1": 150, "r2": 175}
    with path.open("a") as file:
        file.write(' pod="ns/g-0"\n')
        file.write('I1 "Calculated placement\'s final score for podGroup" podGroup="ns/gang" placement="r2" score=60\n')
    assert log.choice("ns/g-0", "r2a") is None
    assert log.placements("ns/gang") == {"r2": 60}


def test_a_recording_has_the_score_of_each_decision(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    path.write_text(
        '{"event":"stepped","at":1.0}\n'
        '{"event":"decided","pod":"ns/one","uid":"u","node":"a",'
        '"ranking":{"total":310,"by_plugin":{},"among":3,"equals":2}}\n'
        '{"event":"decided","pod":"ns/one","uid":"u","node":"a","given_back":true}\n'
        '{"event":"decided","pod":"ns/alone","uid":"v","node":"b"}\n'
        '{"event":"decided","pod":"ns/none","uid":"w","code":"Unschedulable"}\n'
    )
    recorded = Recorded(path)
    assert recorded.choice("ns/one", "a") == Choice(310, 3, 2)
    assert recorded.choice("ns/alone", "b") is None
    assert [recorded.knows(*each) for each in (("ns/alone", "b"), ("ns/none", ""), ("ns/one", "b"))] == [
        True,
        False,
        False,
    ]
