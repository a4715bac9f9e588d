"""Tables at the width of a terminal, and in a pipe."""

from io import StringIO

import msgspec
import pytest
from click.testing import CliRunner
from rich.console import Console, RenderableType

from muster.framework.contract import Status
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.explain import Explanation
from muster.operator.commands import groups
from muster.operator.explain.groups import GroupReport, render_groups, render_report
from muster.operator.explain.live import Explained
from muster.operator.explain.tables import render
from muster.plugins.coscheduling.api import PodGroup
from tests.builders import make_pod

_WIDTH = 80
_WHY = (
    "pod group team-of-nine/first-gang is unschedulable, 0 of the 3 members that it needs fit: "
    "0/5 nodes are available: 5 Insufficient cpu."
)
_DOCUMENT = {
    "metadata": {"name": "first-gang", "namespace": "team-of-nine"},
    "spec": {"minMember": 3},
    "status": {
        "phase": "Scheduling",
        "conditions": [{"type": "Scheduled", "status": "False", "reason": "Unschedulable", "message": _WHY}],
    },
}
_GROUP = msgspec.json.decode(msgspec.json.encode(_DOCUMENT), type=PodGroup)


def _printed(*parts: RenderableType) -> list[str]:
    file = StringIO()
    for part in parts:
        Console(file=file, width=_WIDTH).print(part)
    return file.getvalue().splitlines()


def _column(lines: list[str], index: int) -> str:
    """What stands in one column, without spaces, which may stand where a line ends."""
    return "".join(line.split("│")[index + 1] for line in lines if line.startswith("│")).replace(" ", "")


def test_a_terminal_shows_groups_by_whole_names_and_whole_messages() -> None:
    lines = _printed(render_groups([_GROUP]))
    assert any("│ team-of-nine │ first-gang │" in line for line in lines)
    assert _column(lines, 7) == _WHY.replace(" ", "")


def test_a_terminal_shows_members_by_whole_names_and_whole_messages() -> None:
    member = make_pod("first-gang-worker-0")
    member["status"] = {"conditions": [{"type": "PodScheduled", "status": "False", "message": _WHY}]}
    lines = _printed(*render_report(GroupReport(_GROUP, [msgspec.convert(dict(member), Pod)])))
    assert any("│ first-gang-worker-0 │" in line for line in lines)
    assert _column(lines, 3) == _WHY.replace(" ", "")


def test_a_terminal_shows_which_plugin_a_score_is_of() -> None:
    plugins = ["NodeResourcesFit", "NodeResourcesBalancedAllocation", "TaintToleration", "NodeAffinity", "PodTopology"]
    scores = {"node-1": dict.fromkeys(plugins, 1)}
    found = Explanation(("node-1",), {"n": Status.unschedulable(_WHY)}, scores, {"node-1": 5}, chosen="node-1")
    pod = PodInfo(msgspec.convert(dict(make_pod("web")), Pod))
    _, rejected, best, *_ = render(Explained(pod, "muster", 2, found, "", ""))
    heads = _printed(best)
    top = next(index for index, line in enumerate(heads) if line.startswith("┡"))
    names = ["".join(line.split("┃")[index + 2].strip() for line in heads[2:top]) for index in range(len(plugins))]
    assert names == plugins
    assert _column(_printed(rejected), 2) == _WHY.replace(" ", "")


def test_a_pipe_gets_every_row_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async def listed(*_: object) -> list[PodGroup]:
        return [_GROUP]

    monkeypatch.setattr(groups, "list_groups", listed)
    monkeypatch.setattr(groups, "load_connection", lambda _: None)
    printed = CliRunner().invoke(groups.command, ["-A"], catch_exceptions=False).output
    assert any("first-gang" in line and _WHY in line for line in printed.splitlines())
