"""Attacks by plugins: a package whose plugins fail, stall or sort wrongly, and a package that cannot be imported.

Both packages are installed beside Muster during all attacks. The profile enables the first; the second has no effect
until a profile enables it: Muster then ends with one line and exit code 2.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from bench.attack_effects import Bounds
from bench.scale import SCHEDULER_NAME
from bench.target import PODS, Attack, Target, make_attack_pod, posted
from tests.builders import PodDict
from tests.security.packages import install

ROGUE, ROGUE_SORT, UNIMPORTABLE = "Rogue", "RogueSort", "Unimportable"
_STALL_SECONDS = 0.25
_STALLED = Bounds(held=0.5)
"""A plugin that stalls holds the loop for as long as it does: the next edge of the histogram above its quarter of a
second."""

_SOURCE = f"""
import asyncio, time
from muster.framework.contract import PreBindPlugin, PreEnqueuePlugin, PreFilterPlugin, ReservePlugin, Status
from muster.plugins.queueing.priority_sort import PrioritySort

class {ROGUE}(PreEnqueuePlugin, PreFilterPlugin, ReservePlugin, PreBindPlugin):
    name = "{ROGUE}"

    def _act(self, point, pod):
        if pod.labels.get("breaks") == point:
            raise asyncio.CancelledError("a bug")
        if pod.labels.get("stalls") == point:
            time.sleep({_STALL_SECONDS})

    def pre_enqueue(self, pod):
        return self._act("preEnqueue", pod)

    def pre_filter(self, state, pod, nodes):
        return self._act("preFilter", pod)

    def reserve(self, state, pod, node_name):
        return self._act("reserve", pod)

    def unreserve(self, state, pod, node_name):
        pass

    def pre_bind_pre_flight(self, state, pod, node_name):
        return None if {{"breaks", "stalls"}} & pod.labels.keys() else Status.skip()

    async def pre_bind(self, state, pod, node_name):
        return self._act("preBind", pod)

class {ROGUE_SORT}(PrioritySort):
    name = "{ROGUE_SORT}"
    bad = {{
        "text": lambda key: "first",
        "shorter": lambda key: key[:1],
        "incomparable": lambda key: (key[0], "soon", *key[2:]),
        "unordered": lambda key: (key[0], float("nan"), *key[2:]),
        "unhashable": lambda key: (key[0], [key[1]], *key[2:]),
    }}

    def sort_key(self, queued):
        key, kind = super().sort_key(queued), queued.info.labels.get("sorts", "")
        if kind == "raises":
            raise asyncio.CancelledError("a bug")
        return self.bad.get(kind, lambda key: key)(key)
"""
_POINTS = "preEnqueue", "preFilter", "reserve", "preBind"
_NO_KEYS = "raises", "text", "unordered", "unhashable"
_UNLIKE_KEYS = "shorter", "incomparable"
"""Sort keys that are valid by themselves: a fault is reported only while keys of another type are in use."""
_SORTS = (*_NO_KEYS, *_UNLIKE_KEYS)


def install_packages(folder: Path) -> None:
    """Write both packages to `folder`, which has to be on the process's path."""
    install(folder, "rogues", _SOURCE, {ROGUE: ROGUE, ROGUE_SORT: ROGUE_SORT})
    install(folder, "unimportable", "import a_module_that_is_not_here", {UNIMPORTABLE: UNIMPORTABLE})


def configuration(*, leader_election: bool, more: str = "") -> str:
    """A KubeSchedulerConfiguration whose profile has the gang plugin, both rogues, and `more` if it is named."""
    enabled = [{"name": name} for name in ("Coscheduling", ROGUE, more) if name]
    plugins = {
        "multiPoint": {"enabled": enabled, "disabled": [{"name": "PrioritySort"}]},
        "queueSort": {"enabled": [{"name": ROGUE_SORT}], "disabled": [{"name": "*"}]},
    }
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": leader_election, "resourceName": "muster"},
        "profiles": [{"schedulerName": SCHEDULER_NAME, "plugins": plugins}],
    }
    return yaml.safe_dump(document)


def _labelled(label: str, values: tuple[str, ...]) -> list[tuple[str, PodDict]]:
    return [(PODS, make_attack_pod(f"{label}-{value.lower()}").labels({label: value})) for value in values]


async def _names_pods_that_are_not_told(target: Target) -> str:
    """Check that the condition of each pod without a sort key names the plugin and the point."""
    words = f'running QueueSort plugin "{ROGUE_SORT}"'
    silent = []
    for kind in _NO_KEYS:
        name = f"sorts-{kind}"
        found = await target.client.get(f"{PODS}/{name}")
        told = " ".join(each.get("message", "") for each in found["status"].get("conditions", ()))
        if words not in told or "nodeName" in found["spec"]:
            silent.append(name)
    return f"not told of their sort keys: {', '.join(silent)}" if silent else ""


class _Refused:
    """A second Muster on the same cluster whose profile enables the package that cannot be imported."""

    def __init__(self) -> None:
        self._ended: asyncio.Future[str] | None = None

    @asynccontextmanager
    async def begin(self, target: Target) -> AsyncIterator[None]:
        """Start it; it ends by itself, or with this context."""
        config = target.packages / "unimportable.yaml"
        config.write_text(configuration(leader_election=False, more=UNIMPORTABLE))
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("muster")),
            "run",
            f"--kubeconfig={target.kubeconfig}",
            f"--config={config}",
            "--bind-address=127.0.0.1",
            "--secure-port=0",
            env={**os.environ, "PYTHONPATH": str(target.packages)},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        self._ended = asyncio.ensure_future(_end_of(process))
        try:
            yield
        finally:
            if process.returncode is None:
                process.kill()
            await self._ended

    async def look(self, target: Target) -> str:
        """The faults of its end."""
        assert self._ended is not None
        if not self._ended.done():
            return "a profile with a package that cannot be imported runs"
        told = self._ended.result()
        config = target.packages / "unimportable.yaml"
        expected = f'2: Error: {config}: plugin "{UNIMPORTABLE}" cannot be used: '
        one_line = told.startswith(expected) and "\n" not in told
        return "" if one_line else f"it ended with {told.replace(str(target.packages), '…')!r}"


async def _end_of(process: asyncio.subprocess.Process) -> str:
    """The exit code, and the output to standard error without warnings."""
    _, errors = await process.communicate()
    lines = [line for line in errors.decode().splitlines() if not line.startswith("W")]
    return f"{process.returncode}: " + "\n".join(lines)


_unimportable = _Refused()
ROGUE_ATTACKS = (
    Attack(f"a plugin that breaks at {len(_POINTS)} points", posted(*_labelled("breaks", _POINTS))),
    Attack(f"a plugin that stalls at {len(_POINTS)} points", posted(*_labelled("stalls", _POINTS)), bounds=_STALLED),
    Attack(
        f"a queue sort plugin with {len(_SORTS)} bad sort keys",
        posted(*_labelled("sorts", _SORTS)),
        _names_pods_that_are_not_told,
    ),
    Attack("a package that cannot be imported", _unimportable.begin, _unimportable.look),
)
