"""The observer of a worker ends what the function is at, and nothing that has to be done to its end."""

from collections.abc import Callable

from muster.framework.work import Worker, at_each, checkpoint, shielded


class Observed:
    """Ends what the function is at where it goes on."""

    def __init__(self) -> None:
        self.current: str | None = "outer"
        self.stops = 0

    def suspend(self) -> int:
        self.stops += 1
        return self.stops

    def resume(self, suspended: int) -> None:
        assert suspended == self.stops

    def ending(self) -> BaseException | None:
        return None if self.current is None else TimeoutError(self.current)


def observed_story(tell: Callable[[list[str], Observed], None]) -> tuple[Worker, Observed, list[str]]:
    observed = Observed()
    reported: list[str] = []
    worker = Worker(observed)
    worker.begin(lambda: tell(reported, observed))
    return worker, observed, reported


def test_an_observer_may_end_the_current_call_but_not_inside_a_shield() -> None:
    def works(reported: list[str], observed: Observed) -> None:
        try:
            with shielded:
                checkpoint()
                reported.append("shielded")
            checkpoint()
        except TimeoutError:
            reported.append("ended")
        checkpoint()
        reported.append("went on")

    worker, observed, reported = observed_story(works)
    assert not worker.go_on(at_each)
    assert not worker.go_on()
    assert reported == ["shielded"]
    assert not worker.go_on(at_each)
    assert reported == ["shielded", "ended"]
    worker.abort()
    assert reported == ["shielded", "ended"]
    assert observed.stops == 3


def test_a_call_that_is_over_when_a_shield_ends_is_not_ended_later() -> None:
    def works(reported: list[str], observed: Observed) -> None:
        with shielded:
            checkpoint()
        observed.current = None
        checkpoint()
        reported.append("went on")

    worker, _, reported = observed_story(works)
    while not worker.go_on(at_each):
        pass
    assert reported == ["went on"]


def test_an_observer_may_end_a_call_that_began_inside_a_shield() -> None:
    def works(reported: list[str], observed: Observed) -> None:
        with shielded:
            observed.current = "inner"
            try:
                checkpoint()
            except TimeoutError as error:
                reported.append(f"ended {error}")
            observed.current = "outer"
            checkpoint()
            reported.append("cleaned up")

    worker, _, reported = observed_story(works)
    while not worker.go_on(at_each):
        pass
    assert reported == ["ended inner", "cleaned up"]


def test_aborted_work_that_stopped_in_a_shield_does_not_stop_again() -> None:
    def works(reported: list[str], observed: Observed) -> None:
        try:
            with shielded:
                checkpoint()
            checkpoint()
        finally:
            with shielded:
                checkpoint()
            checkpoint()
            reported.append("cleaned up")

    worker, observed, reported = observed_story(works)
    worker.go_on(at_each)
    worker.abort()
    assert (worker.busy, reported, observed.stops) == (False, ["cleaned up"], 1)
