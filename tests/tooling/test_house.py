"""The house rules hold, and each of them notices when it is broken."""

from pathlib import Path

import pytest

from tests.tooling.house import MOST_LINES, MOST_METHODS, MOST_PARAMETERS, MOST_POSITIONAL, faults

TWICE = "class Plan: ...\n\nclass _Part: ...\n\nclass _Part: ...\n\nclass Plan: ...\n"
WIDE = "class Wide:\n    def wide(self, a, b, c, d, *, e, f, g, h): ...\n"
PLACED = "class Placed:\n    def placed(self, a, b, c, d, e): ...\n"
MANY = "class Many:\n" + "".join(f"    def do_{number}(self): ...\n" for number in range(MOST_METHODS + 1))
LONG = "def long():\n" + "    pass\n" * MOST_LINES


def test_the_rules_hold() -> None:
    assert [*faults()] == []


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('"""Those that wait."""\n', "framework/broken.py:1: the docstring begins with 'Those'"),
        ('class Wait:\n    """That of a pod."""\n', "framework/broken.py:1: the docstring begins with 'That'"),
        ('\ndef wait():\n    """The same for a group."""\n', "framework/broken.py:2: the docstring begins with 'The'"),
        ('"""Whoever waits."""\n', "framework/broken.py:1: the docstring begins with 'Whoever'"),
        ('class Wait:\n    """What a pod waits for."""\n', "framework/broken.py:1: the docstring begins with 'What'"),
        (TWICE, "framework/broken.py:7: Plan is the name of another class at framework/broken.py:1"),
        (WIDE, f"framework/broken.py:2: wide has {MOST_PARAMETERS + 1} parameters"),
        (PLACED, f"framework/broken.py:2: placed takes {MOST_POSITIONAL + 1} by position"),
        (MANY, f"framework/broken.py:1: Many has {MOST_METHODS + 1} methods"),
        ("one = 1  # type: ignore[misc]\n", "framework/broken.py:1: type: ignore stands without a reason"),
        ("one = 1  # noqa: E731\n", "framework/broken.py:1: noqa stands without a reason"),
        (LONG, f"framework/broken.py:1: long has {MOST_LINES + 1} lines"),
    ],
)
def test_each_broken_rule_is_named_with_its_place(tmp_path: Path, content: str, fault: str) -> None:
    (tmp_path / "framework").mkdir()
    (tmp_path / "framework" / "broken.py").write_text(content)
    [found] = faults(tmp_path)
    assert found.startswith(fault)


def test_tests_are_held_to_the_rules_about_docstrings_and_names_alone(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    broken = "def test_it_works(): ...\n\nasync def test_what_fails(): ...\n\ndef test_itself_is_a_noun(): ...\n"
    (tmp_path / "tests" / "broken.py").write_text('"""Somebody else\'s pods."""\n' + WIDE + LONG)
    (tmp_path / "tests" / "test_broken.py").write_text('"""What others say."""\n' + broken)
    docstring, *names = faults(tmp_path)
    assert docstring.startswith("tests/broken.py:1: the docstring begins with 'Somebody'")
    assert [name.partition(" begins")[0] for name in names] == [
        "tests/test_broken.py:2: test_it_works",
        "tests/test_broken.py:4: test_what_fails",
    ]
