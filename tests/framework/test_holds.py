"""Holds: the annotations of a group that describe one, and the groups to which it applies."""

import pytest

from muster.framework.contract import COMPOSITE_PREFIX
from muster.framework.groups.holds import HELD_BY, HELD_SINCE, HOLD, RESUMED_BY, GroupHolds, hold_in, hold_text

_SINCE = "2026-11-26T08:00:00Z"


@pytest.mark.parametrize(
    ("annotations", "text"),
    [
        ({HOLD: ""}, "pod group default/train is held"),
        ({HOLD: "false"}, "pod group default/train is held: false"),
        ({HOLD: "rack 4 moves"}, "pod group default/train is held: rack 4 moves"),
        ({HOLD: "", HELD_BY: "ann"}, "pod group default/train is held by ann"),
        ({HOLD: "", HELD_SINCE: _SINCE}, f"pod group default/train has been held since {_SINCE}"),
        (
            {HOLD: "rack 4\nmoves ", HELD_BY: "ann", HELD_SINCE: _SINCE},
            f"pod group default/train has been held by ann since {_SINCE}: rack 4 moves",
        ),
        ({HOLD: "x" * 300}, f"pod group default/train is held: {'x' * 256} ..."),
    ],
)
def test_the_message_says_who_holds_a_group_since_when_and_why_as_far_as_that_is_known(
    annotations: dict[str, str], text: str
) -> None:
    hold = hold_in(annotations)
    assert hold is not None
    assert hold_text("default/train", hold) == text


@pytest.mark.parametrize("annotations", [{}, {HELD_BY: "ann", HELD_SINCE: _SINCE}])
def test_a_group_is_held_by_one_annotation_alone(annotations: dict[str, str]) -> None:
    assert hold_in(annotations) is None


def test_a_group_of_groups_holds_the_groups_in_it_and_the_innermost_hold_is_named() -> None:
    outer, inner = f"{COMPOSITE_PREFIX}default/job", f"{COMPOSITE_PREFIX}default/workers"
    holds = GroupHolds({"default/left": [inner, outer], "default/right": [outer]}.__getitem__)
    assert (bool(holds), holds.text("default/left")) == (False, None)
    holds.follow(outer, {HOLD: ""})
    assert holds.text("default/left") == holds.text("default/right") == "composite pod group default/job is held"
    holds.follow(inner, {HOLD: ""})
    assert holds.text("default/left") == "composite pod group default/workers is held"
    assert (holds.own("default/left"), holds.text("default/right")) == (None, "composite pod group default/job is held")
    holds.follow(outer, {})
    assert holds.text("default/right") is None


def test_the_end_of_a_hold_is_ascribed_to_the_user_who_resumed_the_group_or_the_group_above_it() -> None:
    outer = f"{COMPOSITE_PREFIX}default/job"
    holds = GroupHolds(lambda group: [outer] if group != outer else [])
    holds.follow("default/left", {HOLD: ""})
    holds.follow("default/left", {RESUMED_BY: "ann"})
    assert (holds.resumed_by("default/left"), holds.resumed_by("default/right")) == ("ann", "")
    holds.follow(outer, {HOLD: ""})
    holds.follow(outer, {RESUMED_BY: "bob"})
    assert (holds.resumed_by("default/left"), holds.resumed_by("default/right")) == ("bob", "bob")
    holds.follow("default/left", {HOLD: ""})
    holds.follow("default/left", {})
    assert (holds.resumed_by("default/left"), holds.resumed_by("default/right")) == ("", "bob")


def test_the_user_who_resumed_a_group_before_is_not_taken_for_the_one_who_resumes_it_now() -> None:
    holds = GroupHolds(lambda _: ())
    holds.follow("default/train", {HOLD: "", RESUMED_BY: "ann"})
    holds.follow("default/train", {RESUMED_BY: "ann"})
    assert holds.resumed_by("default/train") == ""
