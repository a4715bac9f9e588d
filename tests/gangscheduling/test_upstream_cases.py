"""Plays cases of kube-scheduler's own integration tests, see `upstream_cases`; `upstream.md` lists all of them."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muster.framework.contract import (
    CycleState,
    NodeView,
    Partition,
    PlacementScorePlugin,
    PodInfo,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    Scores,
    SnapshotReader,
    Status,
)
from tests.builders import PodDict, make_node, make_pod
from tests.clocks import Ticks
from tests.coscheduling.preemption.evicting import EvictingWorld
from tests.gangscheduling.upstream_cases import CASES
from tests.gangscheduling.upstream_composite_topology import COMPOSITE_TOPOLOGY
from tests.gangscheduling.upstream_composites import COMPOSITES
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, make_composite, make_group
from tests.storage import make_claim, make_volume

_TABLE = Path(__file__).with_name("upstream.md")
_SECONDS = 30.0
_FLAGS = (
    "all",
    "rack",
    "block",
    "zone",
    "anti",
    "never",
    "lower",
    "gate",
    "port",
    "spread",
    "fails",
    "taint",
    "tolerate",
)
_ALL = {**CASES, **COMPOSITES, **COMPOSITE_TOPOLOGY}


class FailsOnce(PreBindPlugin):
    """Fails for each pod that is annotated so, the first time."""

    name = "FailsOnce"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._failed: set[str] = set()

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None if "fails" in pod.pod.metadata.annotations else Status.skip()

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        if pod.uid in self._failed:
            return None
        self._failed.add(pod.uid)
        return Status.failure("failed once")


class PresetScore(PlacementScorePlugin):
    """Scores a domain as the label `score` of its nodes says on average; nodes without one have 0."""

    name = "PresetScore"

    def score_placements(self, pods: Sequence[PodInfo], domains: Partition, snapshot: SnapshotReader) -> Scores:
        nodes = snapshot.nodes
        return np.array(
            [
                np.mean([int(node.metadata.labels.get("score", "0")) for row in rows if (node := nodes[row])])
                for rows in domains.rows
            ],
            np.int64,
        )


class Injector(PreFilterPlugin):
    """Does something once, in the middle of the cycle in which a pod is looked at for the first time."""

    name = "Injector"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.watched = ""
        self.act: Callable[[], None] = lambda: None

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult | Status | None:
        if pod.name == self.watched:
            self.watched = ""
            self.act()
        return None


class Player(EvictingWorld):
    """A cluster that does what a line says, or checks it. Every decision on a group is taken in slices of one step."""

    def __init__(self) -> None:
        plugins = {each.name: each for each in (FailsOnce, PresetScore, Injector)}
        super().__init__(plugins=plugins, stopwatch=Ticks())
        self._labels: dict[str, dict[str, str]] = {}
        self._injected: list[str] = []

    async def play(self, line: str) -> None:
        verb, *words = line.split()
        settings = {
            key: value or "yes" for key, _, value in (word.partition("=") for word in words if _is_setting(word))
        }
        names = [word for word in words if not _is_setting(word)]
        await getattr(self, f"do_{verb}")(names, settings)

    async def do_node(self, names: list[str], settings: dict[str, str]) -> None:
        name, cpu = names
        labels = {key: value for key, value in settings.items() if key != "taint"}
        node = make_node(name, cpu=cpu).labels(labels)
        self.add_nodes(node.taint("example.com/kept") if "taint" in settings else node)
        self._labels[name] = labels

    async def do_group(self, names: list[str], settings: dict[str, str]) -> None:
        name, count = names
        self.api.put(KIND, make_group(name, None if count == "-" else int(count), **_spec(settings)))

    async def do_composite(self, names: list[str], settings: dict[str, str]) -> None:
        name, count = names
        group = make_composite(name, None if count == "-" else int(count), **_spec(settings))
        self.api.put(COMPOSITE_KIND, group)

    async def do_dissolve(self, names: list[str], settings: dict[str, str]) -> None:
        self.api.delete(COMPOSITE_KIND, f"default/{names[0]}")

    async def do_pods(self, names: list[str], settings: dict[str, str]) -> None:
        self.add(*(_pod(name, settings) for name in names))

    async def do_inject(self, names: list[str], settings: dict[str, str]) -> None:
        injector = self.engine.algorithms["muster"].framework.plugins.plugins[Injector.name]
        assert isinstance(injector, Injector)

        def act() -> None:
            assert self.engine.scheduler.under_way
            known = self.engine.queue.contents.counts()
            self.add(*(_pod(name, settings) for name in names))
            assert (
                self.engine.queue.contents.counts() == known
            )  # who comes in the middle of a decision is no part of it
            self._injected += names

        injector.watched, injector.act = settings["at"], act

    async def do_injected(self, names: list[str], settings: dict[str, str]) -> None:
        assert self._injected == names

    async def do_refused(self, names: list[str], settings: dict[str, str]) -> None:
        await self.run(_SECONDS)
        said = {name: self.conditions[f"default/{name}"][0] for name in names}
        assert said == dict.fromkeys(names, "Unschedulable")

    async def do_claim(self, names: list[str], settings: dict[str, str]) -> None:
        [name] = names
        modes = ("ReadWriteOncePod",)
        self.api.put("persistentvolumes", make_volume(name, modes=modes))
        self.api.put("persistentvolumeclaims", make_claim(name, volume=name, modes=modes))

    async def do_delete(self, names: list[str], settings: dict[str, str]) -> None:
        self.delete(*(f"default/{name}" for name in names))

    async def do_remove(self, names: list[str], settings: dict[str, str]) -> None:
        self.api.delete(KIND, f"default/{names[0]}")

    async def do_budget(self, names: list[str], settings: dict[str, str]) -> None:
        app, count = names
        spec = {"selector": {"matchLabels": {"app": app}}}
        metadata = {"name": app, "namespace": "default"}
        status = {"disruptionsAllowed": int(count)}
        self.api.put("poddisruptionbudgets", {"metadata": metadata, "spec": spec, "status": status})

    async def do_min(self, names: list[str], settings: dict[str, str]) -> None:
        name, count = names

        def change(group: dict[str, Any]) -> None:
            group["spec"]["schedulingPolicy"] = {"gang": {"minCount": int(count)}}

        self.api.change(KIND, f"default/{name}", change)

    async def do_ungate(self, names: list[str], settings: dict[str, str]) -> None:
        self.api.change("pods", f"default/{names[0]}", lambda pod: pod["spec"].pop("schedulingGates"))

    async def do_tick(self, names: list[str], settings: dict[str, str]) -> None:
        await self.run(0.01)

    async def do_bound(self, names: list[str], settings: dict[str, str]) -> None:
        await self.run(_SECONDS)
        assert {name for name in names if not self.node_of(f"default/{name}")} == set()

    async def do_waits(self, names: list[str], settings: dict[str, str]) -> None:
        await self.run(_SECONDS)
        assert {name: node for name in names if (node := self.node_of(f"default/{name}"))} == {}

    async def do_started(self, names: list[str], settings: dict[str, str]) -> None:
        await self.run(_SECONDS)
        assert len(self._nodes_of(names[0])) == int(names[1])

    async def do_evicted(self, names: list[str], settings: dict[str, str]) -> None:
        assert {key.partition("/")[2] for key in self.evicted} == {*names}

    async def do_in(self, names: list[str], settings: dict[str, str]) -> None:
        rack, *pods = names
        assert {self._rack(self.node_of(f"default/{name}")) for name in pods} == {rack}

    async def do_one(self, names: list[str], settings: dict[str, str]) -> None:
        [key] = settings
        assert len({self._labels[self.node_of(f"default/{name}")][key] for name in names}) == 1

    async def do_together(self, names: list[str], settings: dict[str, str]) -> None:
        assert len({self._rack(node) for node in self._nodes_of(names[0])}) == 1

    async def do_apart(self, names: list[str], settings: dict[str, str]) -> None:
        nodes = self._nodes_of(names[0])
        assert len({self._rack(node) for node in nodes}) == len(nodes)

    def _nodes_of(self, group: str) -> list[str]:
        found = [pod["spec"] for pod in self.api.pods.values()]
        its = [spec for spec in found if spec.get("schedulingGroup", {}).get("podGroupName") == group]
        return [spec["nodeName"] for spec in its if spec.get("nodeName")]

    def _rack(self, node: str) -> str:
        return self._labels[node].get("rack", "")


@pytest.mark.parametrize("name", _ALL)
async def test_a_case_of_kube_schedulers_own_tests(name: str) -> None:
    player = Player()
    try:
        for line in _ALL[name].splitlines():
            await player.play(line)
    finally:
        await player.kill()


def test_the_table_knows_each_case_that_is_played_and_points_to_tests_that_are_there() -> None:
    rows = re.findall(r"^\| (.+) \| `(.+)` \|$", _TABLE.read_text(), re.MULTILINE)
    here = {name for name, where in rows if where == Path(__file__).name}
    assert here == {*_ALL}
    root = Path(__file__).parents[1]
    elsewhere = {where for _, where in rows if "::" in where}
    assert elsewhere
    missing = [
        each
        for each in elsewhere
        if f"def {each.partition('::')[2]}(" not in (root / each.partition("::")[0]).read_text()
    ]
    assert missing == []


def _is_setting(word: str) -> bool:
    return "=" in word or word in _FLAGS


def _spec(settings: dict[str, str]) -> dict[str, Any]:
    """What groups of pods and groups of groups have in common."""
    spec: dict[str, Any] = {"priority": int(settings["prio"])}
    if "all" in settings:
        spec["disruptionMode"] = {"all": {}}
    for key in ("rack", "block", "zone"):
        if key in settings:
            spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    for word, policy in (("never", "Never"), ("lower", "PreemptLowerPriority")):
        if word in settings:
            spec["preemptionPolicy"] = policy
    if "parent" in settings:
        spec["parentCompositePodGroupName"] = settings["parent"]
    return spec


def _pod(name: str, settings: dict[str, str]) -> PodDict:
    pod = make_pod(name).requests(cpu=settings.get("cpu", "1"))
    pod["spec"]["priority"] = int(settings["prio"])
    if "group" in settings:
        pod["spec"]["schedulingGroup"] = {"podGroupName": settings["group"]}
    if "on" in settings:
        pod = pod.node(settings["on"])
    if "select" in settings:
        pod = pod.node_selector({"rack": settings["select"]})
    if "label" in settings:
        pod = pod.labels({"app": settings["label"]})
    if "tolerate" in settings:
        pod = pod.tolerate("example.com/kept")
    if "prefer" in settings:
        wanted = {"key": "kubernetes.io/hostname", "operator": "In", "values": [settings["prefer"]]}
        pod = pod.prefer_nodes(100, wanted)
    if "gate" in settings:
        pod = pod.gate("example.com/quota")
    if "never" in settings:
        pod["spec"]["preemptionPolicy"] = "Never"
    if "anti" in settings:
        pod = pod.labels({"app": "anti"})
        term = {"labelSelector": {"matchLabels": {"app": "anti"}}, "topologyKey": "rack"}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        pod["spec"]["affinity"] = {"podAntiAffinity": required}
    if "spread" in settings:
        pod = pod.labels({"app": "spread"})
        constraint = {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 10}
        selector = {"labelSelector": {"matchLabels": {"app": "spread"}}}
        pod["spec"]["topologySpreadConstraints"] = [{**constraint, **selector}]
    if "fails" in settings:
        pod = pod.annotations({"fails": "once"})
    if "whole" in settings:
        pod["spec"]["resources"] = {"requests": {"cpu": settings["whole"]}}
    if "uses" in settings:
        claim = {"persistentVolumeClaim": {"claimName": settings["uses"]}}
        pod["spec"]["volumes"] = [{"name": "data", **claim}]
    if "port" in settings:
        pod["spec"]["containers"][0]["ports"] = [{"containerPort": 8080, "hostPort": 8080}]
    return pod
