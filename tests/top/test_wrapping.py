"""Explanations of `muster top` on narrow screens."""

import pytest

from muster.operator.explain.layout import lines
from muster.operator.top.wrapping import message_lines, wrapped

TABLE = [*lines(("PODS", "WHICH", "MESSAGE"), [("2", "train-0, train-1", "the node has too little cpu for it")])]


def test_long_lines_of_prose_are_wrapped_and_empty_ones_stay() -> None:
    assert wrapped(["a bb ccc", "", "d"], 5) == ["a bb", "  ccc", "", "d"]


def test_a_table_that_fits_is_as_it_was() -> None:
    assert wrapped(TABLE, 60) == TABLE


def test_the_cells_of_a_table_that_is_too_wide_are_wrapped_in_their_columns() -> None:
    assert wrapped(["", *TABLE, "", "and after it"], 40) == [
        "",
        "PODS  WHICH             MESSAGE",
        "2     train-0, train-1  the node has too",
        "                        little cpu for",
        "                        it",
        "",
        "and after it",
    ]


def test_a_name_is_divided_only_if_there_is_no_other_way() -> None:
    table = [*lines(("WHICH", "MESSAGE"), [("a-name-of-twenty-two", "many short words in one sentence")])]
    assert wrapped(table, 32)[1].split("  ")[0] == "a-name-of-twenty-two"
    assert "a-name-of-twenty-two" in wrapped(table, 30)[1]
    assert all(len(line) <= 29 for line in wrapped(table, 29))


@pytest.mark.parametrize("width", [1, 5, 20])
def test_no_word_is_lost_on_however_narrow_a_screen(width: int) -> None:
    shown = "".join("".join(wrapped(TABLE, width)).split())
    assert sorted(shown) == sorted("".join("".join(TABLE).split()))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("no room", ["  no room"]),
        ("no room here at all", ["  no room", "  here at …"]),
        ("\x1b[2J", ["  \\x1b[2J"]),
    ],
)
def test_a_message_has_its_first_lines_indented_and_without_control_characters(text: str, found: list[str]) -> None:
    assert message_lines(text, 11, most=2) == found
