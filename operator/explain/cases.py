"""Conformance cases: one JSON object per line in, one decision per line out.

A case is {"id", "objects", "pod", "config"?}; its decision has the same id and the contents of `Explanation`. Recorded
decisions of other tools are compared with these, so the wire names are kube-scheduler's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from muster.framework.config import default_configuration, load
from muster.framework.contract import Status
from muster.framework.model.faults import FieldError, check, fault
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.explain import Explanation, explain
from muster.operator.process.settings import Assembly, assemble

from .frozen_engine import frozen_engine

T = TypeVar("T")

_FIELD = re.compile(r"[a-zA-Z]\w*[^ ]*: ")
_ENDED = frozenset({"Succeeded", "Failed"})
"""The phases of pods that a scheduler never lists, because their requests are free again."""


class CaseError(ValueError):
    """A line that is not a case; the message names line and field."""


class _Case(msgspec.Struct):
    id: str
    pod: Pod
    objects: list[msgspec.Raw] = []
    config: msgspec.Raw = msgspec.Raw()


class _Type(msgspec.Struct):
    kind: str
    api_version: str = msgspec.field(default="", name="apiVersion")


def decide(lines: Iterable[bytes], source: str) -> Iterator[bytes]:
    """Yield a line of JSON for each case, in order; skip blank lines.

    Raises CaseError for a line that is not a case, ConfigurationError for a config that is not one.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                case = _decoded(line, _Case)
                decision = _decide(case)
            except FieldError as error:
                raise CaseError(f"{source}: line {number}: {error}") from error
            yield msgspec.json.encode(decision) + b"\n"


def _decide(case: _Case) -> dict[str, Any]:
    assembly = _assembly(bytes(case.config))
    numbered = [(raw, f"objects[{index}]") for index, raw in enumerate(case.objects)]
    found = [(_decoded(raw, _Type, path), raw, path) for raw, path in numbered]
    nodes = [_decoded(raw, Node, path) for type_, raw, path in found if type_.kind == "Node"]
    pods = [_decoded(raw, Pod, path) for type_, raw, path in found if type_.kind == "Pod"]
    running = [pod for pod in pods if pod.status.phase not in _ENDED]
    _reject_duplicates(running)
    others = {
        kind: [
            _decoded(raw, kind.type, path)
            for type_, raw, path in found
            if kind.describes(type_.api_version, type_.kind)
        ]
        for kind in assembly.watched()
    }
    engine = frozen_engine(assembly, nodes, running, others)
    algorithm = engine.algorithms[assembly.profiles[0].scheduler_name]
    pod = PodInfo(case.pod)
    if nominated := case.pod.status.nominated_node_name:
        engine.nominator.nominate(pod, nominated)  # preemption checks whether victims there are terminating already
    return {"id": case.id, **as_json(explain(algorithm, pod))}


def _decoded(text: bytes | msgspec.Raw, kind: type[T], path: str = "") -> T:
    """Decode an object of a case, or the case itself. Raises FieldError, with `path` before the field."""
    try:
        found = msgspec.json.decode(text, type=kind)
        check(found)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FieldError(_under(path, fault(error))) from error
    except FieldError as error:
        raise FieldError(_under(path, str(error))) from error
    return found


def _under(path: str, problem: str) -> str:
    names_field = _FIELD.match(problem)
    return f"{path}{'.' if names_field else ': '}{problem}" if path else problem


def _reject_duplicates(pods: Iterable[Pod]) -> None:
    """Raise FieldError for two pods with the same UID, which no cluster has."""
    names: dict[str, str] = {}
    for pod in pods:
        uid, name = pod.metadata.uid, pod.metadata.name
        if uid and names.setdefault(uid, name) != name:
            raise FieldError(f"objects: pods {names[uid]} and {name} have the same metadata.uid: {uid}")


@lru_cache(maxsize=64)
def _assembly(config: bytes) -> Assembly:
    return assemble(load(config, "config") if config else default_configuration())


def as_json(explanation: Explanation) -> dict[str, Any]:
    """The explanation in the form of a recorded decision: without empty fields, except `feasible`."""
    decision: dict[str, Any] = {"feasible": list(explanation.feasible)}
    if explanation.prefilter is not None:
        decision["prefilter"] = _status(explanation.prefilter)
    if explanation.rejected:
        decision["rejected"] = {name: _status(status) for name, status in explanation.rejected.items()}
    if explanation.totals:
        decision["scores"] = _plain(explanation.scores)
        decision["totals"] = dict(explanation.totals)
    if explanation.message:
        decision["message"] = explanation.message
    decision.update(explanation.planned)
    if explanation.evictions is not None:
        decision["nominated"] = explanation.evictions.node_name
        decision["victims"] = sorted(pod.key for pod in explanation.evictions.victims)
    return decision


def _status(status: Status) -> dict[str, Any]:
    return {"code": status.code.wire_name, "plugin": status.plugin, "reasons": list(status.reasons)}


def _plain(scores: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {name: dict(values) for name, values in scores.items()}
