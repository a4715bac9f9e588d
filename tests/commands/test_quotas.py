"""`muster quotas`: the table, the document, and what of the quotas is not followed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from muster.operator.explain.quotas import render_quotas
from muster.plugins.capacityscheduling.api import ElasticQuota
from muster.plugins.capacityscheduling.definition import definition
from muster.plugins.catalog import QUOTAS
from muster.sandbox import Sandbox
from tests.capacityscheduling.objects import make_quota
from tests.sandboxes import served

from .asking import ask


def used(plain: dict[str, Any], **amounts: str) -> ElasticQuota:
    return msgspec.convert({**plain, "status": {"used": amounts}}, ElasticQuota)


FOUND = [
    used(make_quota("ml", min={"cpu": "36"}, max={"cpu": "48", "gpu": "8"}, parent="dept/all"), cpu="48", gpu="2"),
    used(make_quota("dept", name="all", min={"cpu": "40"}, weight="3"), cpu="48"),
    used(make_quota("ops", min={"cpu": "8"}, weight="none"), cpu="500m"),
]


def test_the_table_has_a_line_for_each_resource_and_the_problems_beneath() -> None:
    table = [*render_quotas(QUOTAS.report(FOUND), wide=False)]
    assert [line.split() for line in table[:5]] == [
        ["NAMESPACE", "NAME", "RESOURCE", "USED", "MIN", "MAX", "BORROWED", "SHARE"],
        ["dept", "all", "cpu", "48", "40", "-", "8", "100.0%"],
        ["ml", "quota", "cpu", "48", "36", "48", "12", "100.0%"],
        ["ml", "quota", "gpu", "2", "0", "8", "0", "<none>"],
        ["ops", "quota", "cpu", "500m", "8", "-", "0", "1.0%"],
    ]
    [problem] = table[5:]
    assert problem.startswith("ops/quota: metadata.annotations[muster-scheduler.io/quota-weight]: Invalid value")


def test_the_wide_table_names_weight_and_parent() -> None:
    lines = [line.split()[-2:] for line in render_quotas(QUOTAS.report(FOUND, "ml"), wide=True)]
    assert lines == [["WEIGHT", "PARENT"], ["1", "dept/all"], ["1", "dept/all"]]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Two quotas, one of them in a namespace of its own."""
    sandbox = Sandbox([definition()], stand_ins=False)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    objects = [space, make_quota("default", name="here", min={"cpu": "2"}), make_quota("ml", min={"cpu": "6"})]
    with served(sandbox, objects, tmp_path) as found:
        yield found


def test_the_command_reads_the_cluster(kubeconfig: Path) -> None:
    printed = ask("quotas", "-n", "ml", "--kubeconfig", str(kubeconfig)).stdout.splitlines()
    assert [line.split()[:5] for line in printed[1:]] == [["ml", "quota", "cpu", "0", "6"]]
    document = json.loads(ask("quotas", "-o", "json", "--kubeconfig", str(kubeconfig)).stdout)
    assert [(use["namespace"], use["min"], use["share"]) for use in document["uses"]] == [
        ("default", "2", 0.0),
        ("ml", "6", 0.0),
    ]


def test_where_there_is_no_quota_it_says_so(kubeconfig: Path) -> None:
    result = ask("quotas", "-n", "empty", "--kubeconfig", str(kubeconfig))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "No resources found in empty namespace.\n"


def test_where_the_kind_is_not_served_there_are_none(tmp_path: Path) -> None:
    with served(Sandbox([], stand_ins=False), [], tmp_path) as bare:
        result = ask("quotas", "--kubeconfig", str(bare))
    assert (result.exit_code, result.stderr) == (0, "No resources found.\n")
