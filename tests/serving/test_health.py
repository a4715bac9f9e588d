"""Health pages read as kube-scheduler's do."""

from muster.operator.serving.health import PING, ProbeAnswer, probe, single

healthy = PING["ping"]


def unsynchronized() -> str:
    return "handlers are not fully synchronized"


def test_a_page_without_failures_says_ok() -> None:
    assert probe("readyz", {"leaderElection": healthy}) == ProbeAnswer(200, "ok")


def test_a_verbose_page_lists_its_checks_in_their_order() -> None:
    answer = probe("readyz", {"leaderElection": healthy, "shutdown": healthy}, verbose=True)
    assert answer == ProbeAnswer(200, "[+]leaderElection ok\n[+]shutdown ok\nreadyz check passed\n")


def test_one_failing_check_fails_the_page_which_then_lists_all_unasked() -> None:
    answer = probe("readyz", {"leaderElection": healthy, "sched-handler-sync": unsynchronized})
    assert answer == ProbeAnswer(
        500,
        "[+]leaderElection ok\n"
        "[-]sched-handler-sync failed: handlers are not fully synchronized\n"
        "readyz check failed\n",
    )


def test_an_excluded_check_is_not_run() -> None:
    answer = probe("readyz", {"sched-handler-sync": unsynchronized}, excluded=["sched-handler-sync"], verbose=True)
    assert answer == ProbeAnswer(200, "[+]sched-handler-sync excluded: ok\nreadyz check passed\n")


def test_excluding_what_does_not_exist_is_pointed_out() -> None:
    answer = probe("livez", {}, excluded=["b", "a"], verbose=True)
    assert answer.text.splitlines()[0] == ('warn: some health checks cannot be excluded: no matches for "a","b"')


def test_a_single_check_says_ok_or_what_is_wrong() -> None:
    assert single(healthy) == ProbeAnswer(200, "ok")
    assert single(unsynchronized) == ProbeAnswer(500, "internal server error: handlers are not fully synchronized\n")
