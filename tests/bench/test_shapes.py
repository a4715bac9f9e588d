"""The shapes of pods that are measured, and the table of what was found."""

import io
from dataclasses import replace

import msgspec
from rich.console import Console

from bench.shapes import PLAIN, SHAPES, table, too_many
from bench.trial import Result


def test_pods_of_a_shape_differ_in_nothing_but_their_names() -> None:
    for shape in SHAPES.values():
        bodies = [body.decode() for _, body in shape.pods(3)]
        names = [msgspec.json.decode(body)["metadata"]["name"] for body in bodies]
        assert len(set(names)) == 3
        assert len({body.replace(name, "") for body, name in zip(bodies, names, strict=True)}) == 1


def test_every_shape_but_the_plain_one_asks_for_something_of_its_own() -> None:
    asked = {
        name: msgspec.json.encode([msgspec.json.decode(body)["spec"] for _, body in shape.pods(1)])
        + msgspec.json.encode([path for path, _ in shape.objects(1, 1)])
        for name, shape in SHAPES.items()
    }
    assert len(set(asked.values())) == len(SHAPES)


def test_a_shape_may_be_measured_with_fewer_pods() -> None:
    assert {name: shape.count(2000) for name, shape in SHAPES.items() if shape.count(2000) != 2000} == {
        "one volume": 500,
        "one device": 500,
    }


def test_a_backlog_that_does_not_fit_is_rejected_beforehand() -> None:
    assert too_many(5000, 2000) is None
    assert too_many(60, 61) == "60 nodes have no capacity for 61 pods that keep apart by host"
    assert too_many(3, 3) is None
    assert too_many(300, 300) is None


def test_the_table_holds_what_both_sides_came_to_and_plain_pods_against_each_shape(result: Result) -> None:
    slow = replace(result, side="kube-scheduler", bound_seconds=40.0)
    shaped = replace(result, bound_seconds=20.0)
    found = {PLAIN: (slow, result), "shaped": (slow, shaped), "stalled": (None, shaped)}
    console = Console(file=io.StringIO(), width=200)
    console.print(table("title", found))
    output = console.file
    assert isinstance(output, io.StringIO)
    cells = {
        line.split()[1]: [cell.strip() for cell in line.strip("│ ").split("│")[1:5]]
        for line in output.getvalue().splitlines()
        if line.startswith("│")
    }
    assert cells == {
        PLAIN: ["25", "100", "4.00", "1.00"],
        "shaped": ["25", "50", "2.00", "0.50"],
        "stalled": ["-", "50", "-", "0.50"],
    }
