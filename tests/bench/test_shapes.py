"""The shapes of pods that are measured, and the table of what was found."""

import io
from dataclasses import replace

import msgspec
from rich.console import Console

from bench.shapes import PLAIN, SHAPES, table, too_many
from bench.trial import Result


def test_pods_of_a_shape_differ_in_nothing_but_their_names() -> None:
    for shape in SHAPES.values():
        bodies = [msgspec.json.decode(body) for _, body in shape.pods(3)]
        names = [body["metadata"].pop("name") for body in bodies]
        for body in bodies:
            body["metadata"].pop("uid")
        assert len(set(names)) == 3
        assert bodies[0] == bodies[1] == bodies[2]


def test_every_shape_but_the_plain_one_asks_for_something_of_its_own() -> None:
    asked = {
        name: msgspec.json.encode([msgspec.json.decode(body)["spec"] for _, body in shape.pods(1)])
        + msgspec.json.encode([path for path, _ in shape.objects])
        for name, shape in SHAPES.items()
    }
    assert len(set(asked.values())) == len(SHAPES)


def test_pods_that_have_no_room_are_refused_beforehand() -> None:
    assert too_many(5000, 2000) is None
    assert too_many(60, 61) == "60 nodes have no room for 61 pods that keep apart by host"
    assert too_many(3, 3) is None
    assert too_many(300, 300) is None


def test_the_table_holds_both_sides_and_plain_pods_against_each_shape(result: Result) -> None:
    slow = replace(result, side="kube-scheduler", bound_seconds=40.0)
    found = {PLAIN: (slow, result), "shaped": (slow, replace(result, bound_seconds=20.0))}
    console = Console(file=io.StringIO(), width=200)
    console.print(table("title", found))
    output = console.file
    assert isinstance(output, io.StringIO)
    cells = {
        line.split()[1]: [cell.strip() for cell in line.strip("│ ").split("│")[1:5]]
        for line in output.getvalue().splitlines()
        if line.startswith("│")
    }
    assert cells == {PLAIN: ["25", "100", "4.00", "1.00"], "shaped": ["25", "50", "2.00", "0.50"]}
