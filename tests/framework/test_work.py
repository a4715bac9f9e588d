"""A function that a worker runs stops at checkpoints and goes on there, is ended there, or is carried through."""

import gc
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import partial
from weakref import ref

import pytest
from greenlet import greenlet

from muster.framework.work import Aborted, Worker, at_each, checkpoint, commit, shielded


class Story:
    """A function of several parts, and how far it came."""

    def __init__(self, tell: Callable[["Story"], None]) -> None:
        self.reported: list[str] = []
        self.worker = Worker()
        self._tell = tell
        self.worker.begin(lambda: tell(self))

    def goes_on(self) -> bool:
        """To the next checkpoint; whether it goes on after that."""
        return not self.worker.go_on(at_each)


def two_parts(story: Story) -> None:
    try:
        story.reported.append("first")
        checkpoint()
        story.reported.append("second")
    finally:
        story.reported.append("cleaned up")


def test_work_stops_at_a_checkpoint_when_its_slice_is_over_and_goes_on_there() -> None:
    story = Story(two_parts)
    assert (story.goes_on(), story.reported) == (True, ["first"])
    assert (story.goes_on(), story.reported) == (False, ["first", "second", "cleaned up"])
    assert not story.worker.busy


def test_a_checkpoint_does_not_pause_within_the_slice_or_without_a_worker() -> None:
    story = Story(two_parts)
    assert story.worker.go_on()
    alone = Story(two_parts)
    two_parts(alone)
    assert story.reported == alone.reported == ["first", "second", "cleaned up"]


def test_aborted_work_ends_at_its_checkpoint() -> None:
    story = Story(two_parts)
    story.goes_on()
    story.worker.abort()
    assert (story.worker.busy, story.reported) == (False, ["first", "cleaned up"])


def test_work_that_has_not_begun_is_aborted_without_a_trace() -> None:
    story = Story(two_parts)
    story.worker.abort()
    story.worker.abort()
    assert (story.worker.busy, story.reported) == (False, [])


def test_committed_work_is_carried_through_instead() -> None:
    def committed(story: Story) -> None:
        commit()
        two_parts(story)

    story = Story(committed)
    story.goes_on()
    story.worker.abort()
    assert (story.worker.busy, story.reported) == (False, ["first", "second", "cleaned up"])


def test_a_shielded_part_is_done_to_its_end_before_the_work_is_aborted() -> None:
    def cleans_up(story: Story) -> None:
        with shielded:
            for number in range(3):
                story.reported.append(f"part {number}")
                checkpoint()
        checkpoint()
        story.reported.append("more")

    story = Story(cleans_up)
    story.goes_on()
    story.worker.abort()
    assert (story.worker.busy, story.reported) == (False, ["part 0", "part 1", "part 2"])


def test_work_that_cleans_up_when_it_is_aborted_does_not_stop() -> None:
    def cleans_up(story: Story) -> None:
        try:
            checkpoint()
        finally:
            checkpoint()
            story.reported.append("cleaned up")

    story = Story(cleans_up)
    story.goes_on()
    story.worker.abort()
    assert (story.worker.busy, story.reported) == (False, ["cleaned up"])


def test_an_error_is_raised_by_go_on_and_the_worker_can_begin_another_function() -> None:
    def fails(story: Story) -> None:
        checkpoint()
        raise ValueError("no")

    story = Story(fails)
    story.goes_on()
    with pytest.raises(ValueError, match="no"):
        story.goes_on()
    assert not story.worker.busy
    story.worker.begin(lambda: two_parts(story))
    assert (story.goes_on(), story.goes_on()) == (True, False)


def test_a_worker_takes_on_one_function_at_a_time() -> None:
    story = Story(two_parts)
    with pytest.raises(RuntimeError, match="has not ended"):
        story.worker.begin(lambda: None)


def test_workers_take_turns() -> None:
    stories = [Story(two_parts), Story(two_parts)]
    for story in stories:
        assert story.goes_on()
    assert [story.goes_on() for story in stories] == [False, False]


def test_work_runs_in_the_context_in_which_it_was_taken_on() -> None:
    variable = ContextVar("variable", default="nothing")
    variable.set("something")
    found: list[str] = []
    story = Story(lambda _: found.append(variable.get()))
    story.goes_on()
    assert found == ["something"]


@pytest.mark.usefixtures("own_objects_alone")
def test_the_stack_of_a_worker_ends_with_it() -> None:
    def stacks() -> int:
        gc.collect()
        return sum(isinstance(each, greenlet) and not each.dead for each in gc.get_objects())

    before = stacks()
    for _ in range(5):
        worker = Worker()
        worker.begin(checkpoint)
        worker.go_on()
    assert stacks() == before + 1
    del worker
    assert stacks() == before


def is_dropped(worker: Worker) -> None:
    del worker


def is_dropped_in_a_cycle(worker: Worker) -> None:
    cycle: list[object] = [worker]
    cycle.append(cycle)


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("drop", [is_dropped, is_dropped_in_a_cycle])
def test_a_function_whose_worker_is_dropped_ends_at_its_checkpoint(drop: Callable[[Worker], None]) -> None:
    reported: list[str] = []

    class Used:
        pass

    def works(used: Used) -> None:
        try:
            checkpoint()
            reported.append("went on")
        finally:
            reported.append("cleaned up")

    used = Used()
    gone = ref(used)
    workers = [Worker()]
    workers[0].begin(partial(works, used))
    workers[0].go_on(at_each)
    del used
    assert gone() is not None

    drop(workers.pop())
    gc.collect()
    assert reported == ["cleaned up"]
    assert gone() is None


class Owner:
    """Has a worker, which knows it by all that it was called with and in."""

    current: ContextVar["Owner"] = ContextVar("current")

    def __init__(self) -> None:
        self.worker = Worker()
        copy_context().run(self._begin)

    def _begin(self) -> None:
        self.current.set(self)
        self.worker.begin(self._work)

    def _work(self) -> None:
        checkpoint()

    def is_over(self) -> bool:
        return True


def goes_on_to_the_end(owner: Owner) -> None:
    assert [owner.worker.go_on(owner.is_over) for _ in range(2)] == [False, True]


def is_given_up(owner: Owner) -> None:
    owner.worker.go_on(owner.is_over)
    owner.worker.abort()


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("ends", [goes_on_to_the_end, is_given_up])
def test_an_idle_worker_keeps_no_object_alive(ends: Callable[[Owner], None]) -> None:
    owner = Owner()
    ends(owner)
    gone = ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_giving_up_is_no_exception_that_a_plugin_may_take_for_its_own() -> None:
    assert not issubclass(Aborted, Exception)
