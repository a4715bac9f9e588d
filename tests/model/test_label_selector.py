"""Label selectors: what they pick, and what is said of those that cannot be read."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.model.label_selector import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    Selector,
    SelectorError,
    read_selector,
    with_labels,
)
from tests.builders import require


def read(*expressions: Mapping[str, Any], **labels: str) -> Selector:
    wire = {"matchLabels": labels, "matchExpressions": list(expressions)}
    return read_selector(msgspec.convert(wire, LabelSelector))


WEB, DB, BARE = {"app": "web", "tier": "front"}, {"app": "db"}, {"tier": "front"}


@pytest.mark.parametrize(
    ("selector", "picked"),
    [
        (NOTHING, []),
        (EVERYTHING, [WEB, DB, BARE]),
        (read(), [WEB, DB, BARE]),
        (read(app="web"), [WEB]),
        (read(app="web", tier="back"), []),
        (read(require("app", "In", "web", "db")), [WEB, DB]),
        (read(require("app", "NotIn", "web")), [DB, BARE]),
        (read(require("app", "Exists")), [WEB, DB]),
        (read(require("app", "DoesNotExist")), [BARE]),
        (read(require("tier", "Exists"), app="web"), [WEB]),
        (read(require("app", "In", "web"), require("app", "In", "db")), []),
        (read(app="web").and_labels({"tier": "front"}), [WEB]),
        (read().and_labels({"app": "db"}), [DB]),
        (NOTHING.and_labels({"app": "db"}), []),
        (with_labels({"app": "web"}).and_all(read(tier="front")), [WEB]),
        (with_labels({"app": "web"}).and_all(NOTHING), [WEB]),
    ],
)
def test_a_selector_picks_labels_that_meet_all_of_it(selector: Selector, picked: list[dict[str, str]]) -> None:
    assert [labels for labels in (WEB, DB, BARE) if selector.picks(labels)] == picked


def test_no_selector_picks_nothing() -> None:
    assert read_selector(None) is NOTHING
    assert not NOTHING.empty
    assert EVERYTHING.empty


def test_selectors_that_say_the_same_are_equal() -> None:
    assert read(app="web") == read(require("app", "In", "web")) == with_labels({"app": "web"})
    assert hash(read(app="web")) == hash(with_labels({"app": "web"}))
    assert read(app="web") != read(app="db")


KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (require("app", "Above", "1"), '"Above" is not a valid label selector operator'),
        (require("app", "In"), "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
        (
            require("app", "Exists", "a"),
            'values: Invalid value: ["a"]: values set must be empty for exists and does not exist',
        ),
        (require("-", "Exists"), f'key: Invalid value: "-": {KEY_RULE}'),
        (
            require("-", "NotIn"),
            f'[key: Invalid value: "-": {KEY_RULE}, values: Invalid value: null:'
            " for 'in', 'notin' operators, values set can't be empty]",
        ),
        (require("a", "In", "x" * 64), f'values[0][a]: Invalid value: "{"x" * 64}": must be no more than 63 bytes'),
    ],
)
def test_the_problem_with_a_selector_is_reported_in_the_api_machinerys_words(
    expression: Mapping[str, Any], text: str
) -> None:
    with pytest.raises(SelectorError) as caught:
        read(expression)
    assert str(caught.value) == text


labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))
expressions = st.builds(
    lambda key, operator, values: require(key, operator, *(values if "In" in operator else ())),
    st.sampled_from("abc"),
    st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")),
    st.lists(st.sampled_from("xyz"), min_size=1),
)


@given(equal=labels, more=st.lists(expressions, max_size=3), asked=labels)
def test_labels_that_are_picked_have_one_of_the_anchors(
    equal: dict[str, str], more: list[dict[str, object]], asked: dict[str, str]
) -> None:
    selector = read(*more, **equal)
    if selector.picks(asked) and selector.anchors is not None:
        assert selector.anchors & asked.items()
