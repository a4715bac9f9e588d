"""Requests to extenders and their answers: the JSON of k8s.io/kube-scheduler/extender/v1. Pure.

Go writes the fields of these structs under their Go names and reads them in any case, so extenders answer `nodeNames`
as well as `NodeNames`; both are read here. Objects are passed in as encoded JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from muster.framework.contract.extender import ExtenderError, ExtenderFilterResult, MetaVictims

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T = TypeVar("T")
_json = msgspec.json.encode


class _Meta(msgspec.Struct):
    name: str = ""


class _Node(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _NodeList(msgspec.Struct):
    items: list[_Node] | None = None


class BindingArgs(msgspec.Struct, rename="pascal"):
    """ExtenderBindingArgs."""

    pod_name: str
    pod_namespace: str
    pod_uid: str = msgspec.field(name="PodUID")
    node: str = ""


def args_with_nodes(pod: bytes, nodes: Sequence[bytes]) -> bytes:
    """ExtenderArgs for an extender without a cache of nodes."""
    items = b",".join(nodes)
    return b'{"Pod":%b,"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}' % (pod, items)


def args_with_names(pod: bytes, node_names: Sequence[str]) -> bytes:
    """ExtenderArgs for an extender with a cache of nodes."""
    return b'{"Pod":%b,"Nodes":null,"NodeNames":%b}' % (pod, _json(node_names))


def preemption_args_with_pods(pod: bytes, victims: Mapping[str, tuple[Sequence[bytes], int]]) -> bytes:
    """ExtenderPreemptionArgs for an extender without a cache of nodes: pods and violated budgets by node."""
    entries = b",".join(
        b'%b:{"Pods":[%b],"NumPDBViolations":%d}' % (_json(name), b",".join(pods), violations)
        for name, (pods, violations) in victims.items()
    )
    return b'{"Pod":%b,"NodeNameToVictims":{%b},"NodeNameToMetaVictims":null}' % (pod, entries)


def preemption_args_with_uids(pod: bytes, victims: Mapping[str, MetaVictims]) -> bytes:
    """ExtenderPreemptionArgs for an extender with a cache of nodes."""
    named = {
        name: {"Pods": [{"UID": uid} for uid in each.uids], "NumPDBViolations": each.violations}
        for name, each in victims.items()
    }
    return b'{"Pod":%b,"NodeNameToVictims":null,"NodeNameToMetaVictims":%b}' % (pod, _json(named))


def filter_result(body: bytes, *, names: bool) -> ExtenderFilterResult:
    """Decode an ExtenderFilterResult; with `names`, of an extender with a cache of nodes, which answers with names.

    Raises ExtenderError with the error in the answer, and msgspec.DecodeError for a malformed answer.
    """
    fields = _fields(body)
    if error := _field(fields, "error", str, ""):
        raise ExtenderError(error)
    passed = _field(fields, "nodenames", list[str], None) if names else None
    if passed is None:
        nodes = _field(fields, "nodes", _NodeList, _NodeList())
        passed = [node.metadata.name for node in nodes.items or ()]
    reasons = dict[str, str]
    failed = _field(fields, "failednodes", reasons, {})
    return ExtenderFilterResult(passed, failed, _field(fields, "failedandunresolvablenodes", reasons, {}))


def host_priorities(body: bytes) -> dict[str, int]:
    """HostPriorityList. Raises msgspec.DecodeError for anything else."""
    scores: dict[str, int] = {}
    for each in msgspec.json.decode(body, type=list[dict[str, str | int]] | None) or ():
        entry = _folded(each)
        host, score = entry.get("host", ""), entry.get("score", 0)
        if not isinstance(host, str) or not isinstance(score, int):
            raise msgspec.ValidationError("Expected a Host and an integer Score")
        scores[host] = scores.get(host, 0) + score
    return scores


def preemption_result(body: bytes) -> dict[str, MetaVictims]:
    """ExtenderPreemptionResult. Raises msgspec.DecodeError for anything else."""
    by_node = _field(_fields(body), "nodenametometavictims", dict[str, dict[str, msgspec.Raw] | None], {})
    return {name: _meta_victims(_folded(each or {})) for name, each in by_node.items()}


def _meta_victims(fields: Mapping[str, msgspec.Raw]) -> MetaVictims:
    pods = [_folded(pod) for pod in _field(fields, "pods", list[dict[str, str]], [])]
    return MetaVictims([pod.get("uid", "") for pod in pods], _field(fields, "numpdbviolations", int, 0))


def check_binding_result(body: bytes) -> None:
    """Decode an ExtenderBindingResult. Raises ExtenderError with the error in the answer, and msgspec.DecodeError."""
    if error := _field(_fields(body), "error", str, ""):
        raise ExtenderError(error)


def _fields(body: bytes) -> dict[str, msgspec.Raw]:
    return _folded(msgspec.json.decode(body, type=dict[str, msgspec.Raw]))


def _folded(entry: Mapping[str, T]) -> dict[str, T]:
    return {name.lower(): value for name, value in entry.items()}


def _field(fields: Mapping[str, msgspec.Raw], name: str, type: Any, default: Any) -> Any:
    """The field, or `default` if it is absent or null."""
    raw = fields.get(name)
    found = None if raw is None else msgspec.json.decode(raw, type=type | None)
    return default if found is None else found
