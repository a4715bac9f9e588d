"""Templates render as Go's do, and what is not understood is an error."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.scheduler_perf.expression import TemplateError
from bench.scheduler_perf.template import Template

VALUES: Mapping[str, Any] = {
    "Index": 7,
    "Count": 10,
    "class": "example.com/gpu",
    "classes": 2,
    "cpuRequest": "100m",
    "disruptionMode": "single",
    "minCount": 3,
    "nodesCount": 5,
    "PodGroupCount": 2,
    "podsCount": 10,
    "podsPerGroup": 3,
    "priority": 1_000_000,
}
"""What any of scheduler_perf's templates may ask for."""


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("name-{{.Index}}", "name-7"),
        ("{{ .Index }}{{.class}}", "7example.com/gpu"),
        ("{{DivideInt .Index .podsPerGroup}}", "2"),
        ("{{Mod .Index 4}}", "3"),
        ("{{AddInt 8000 (Mod .Index (DivideInt .podsCount .nodesCount))}}", "8001"),
        ("{{AddInt 0 .priority}}", "1000000"),
        ('{{DivideInt "30000" .Count}}', "3000"),
        ("{{$n := or .missing 4}}{{$n}}", "4"),
        ("{{$n := (or .podsPerGroup 4) | Int}}{{$n}}", "3"),
        ("{{$all := (or .missing nil) | JSON}}{{$all}}", "null"),
        ('{{if eq .class "example.com/gpu"}}gpu{{else}}other{{end}}', "gpu"),
        ("{{if .missing}}there{{else}}not{{end}}", "not"),
        ("{{if ge .Index 8}}late{{end}}", ""),
        ("{{if .Index}}{{if .missing}}a{{else}}b{{end}}{{else}}c{{end}}", "b"),
        ("{{range 3}}[{{.}}]{{end}}", "[0][1][2]"),
        ("{{$n := 2}}{{range $i := ($n | Int)}}{{$i}}{{Mod . $n}} {{end}}", "00 11 "),
        ("{{range 0}}never{{end}}after", "after"),
    ],
)
def test_a_template_renders_as_in_go(text: str, rendered: str) -> None:
    assert Template(text).render(VALUES) == rendered


def test_lists_are_written_as_json_with_sorted_names_and_plain_signs() -> None:
    text = Template("{{.selectors | JSON}}").render({"selectors": [{"b": "x > \N{DEGREE SIGN}", "a": None}]})
    assert text == '[{"a": null, "b": "x > \N{DEGREE SIGN}"}]'


def test_a_variable_ends_with_the_block_that_declares_it() -> None:
    with pytest.raises(TemplateError, match=r"\$inner is not declared"):
        Template("{{if .Index}}{{$inner := 1}}{{end}}{{$inner}}").render(VALUES)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{{Divide .Index 2}}", "Divide is not a function"),
        ("{{with .Index}}{{end}}", "is not understood here"),
        ("{{end}}", "is not understood here"),
        ("{{if .Index}}", "ends before else or end"),
        ("{{range 3}}", "ends before end"),
        ("{{.Index .Count}}", "has 2 values where one is wanted"),
        ("{{}}", "has 0 values"),
        ("{{(.Index}}", "a parenthesis is open"),
        ("{{.Index)}}", r"'\)' is not understood"),
        ("{{.Index % 2}}", "% 2' is not understood"),
    ],
)
def test_a_template_that_is_not_understood_is_refused(text: str, fault: str) -> None:
    with pytest.raises(TemplateError, match=fault):
        Template(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{{.missing}}", "is None, which is neither a text nor a whole number"),
        ("{{range 1}}{{.Index}}{{end}}", r"\.Index is asked of 0"),
        ("{{range .class}}{{end}}", "which is not a number"),
        ("{{DivideInt .Index 0}}", "is divided by zero"),
        ("{{AddInt .missing 1}}", "None is not a number"),
        ("{{Int .class}}", "'example.com/gpu' is not a number"),
    ],
)
def test_a_template_without_the_values_that_it_needs_does_not_render(text: str, fault: str) -> None:
    template = Template(text)
    with pytest.raises(TemplateError, match=fault):
        template.render(VALUES)


def test_every_template_of_scheduler_perf_renders_to_an_object(scheduler_perf: Path) -> None:
    paths = [path for path in scheduler_perf.rglob("*.yaml") if "templates" in path.parts]
    rendered = {path: yaml.safe_load(Template(path.read_text()).render(VALUES)) for path in paths}

    assert len(rendered) > 100
    assert [path for path, made in rendered.items() if not {"apiVersion", "kind"} <= made.keys()] == []
