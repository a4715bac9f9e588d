"""Tables of half an hour of churn, of the effects of attacks on other users, and of the time to draw web pages."""

from collections.abc import Mapping
from typing import Any

from bench.tables.block import Block
from bench.tables.markdown import MEBIBYTE, figure, table

_PAGES = {
    "/": "queue",
    "/nodes": "map of the nodes",
    "/nodes?in=zone-1": "map with the list of one zone",
    "/changes": "changes",
    "/groups/default/waits-0": "a group that waits",
    "/pods/default/placed-0": "a pod",
}
_KIBIBYTE = 1024


def _soak(data: Mapping[str, Any]) -> str:
    rows = [
        [what, figure(line["mean"], 1), figure(line["climb"], 1), line["verdict"]]
        for what, line in data["lines"].items()
    ]
    minutes = figure(data["seconds"] / 60)
    pods = f"{figure(data['pods'])} pods came and went in {minutes} minutes, {figure(data['rate'])} a second."
    left = [f"When all had gone, {left}." for left in data["left"]]
    return "\n\n".join([" ".join([pods, *left]), table(["", "mean", "climb", "verdict"], rows)])


def _web(data: Mapping[str, Any]) -> str:
    size = (
        f"{figure(data['nodes'])} nodes, {figure(data['groups'])} groups of {data['members']},"
        f" {figure(data['pods'])} further pods; medians:"
    )
    rows = [
        [
            _PAGES.get(page["path"], page["path"]),
            figure(page["drawn"], 2),
            figure(page["cpu"], 2),
            figure(page["bytes"] / _KIBIBYTE),
        ]
        for page in data["pages"]
    ]
    return f"{size}\n\n{table(['page', 's until it is drawn', 'CPU s', 'KiB transferred'], rows)}"


def _attack(data: Mapping[str, Any]) -> str:
    header = ["attack", "loop blocked, ms", "`/livez`, ms", "other pods bound within, s", "memory left, MiB", "faults"]
    rows = [
        [
            each["name"],
            figure(1e3 * each["held"]),
            figure(1e3 * each["livez"]),
            figure(each["bound"], 2),
            figure((each["after"] - each["before"]) / MEBIBYTE),
            "; ".join(each["faults"]) or "none",
        ]
        for each in data["attacks"]
    ]
    return f"On {figure(data['nodes'])} nodes, the longest of each:\n\n{table(header, rows)}"


ATTACK = Block(("attack",), _attack)
SOAK = Block(("soak",), _soak)
WEB = Block(("pages",), _web)
