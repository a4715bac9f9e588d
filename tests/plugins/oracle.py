"""The arithmetic of resources, one node at a time in plain Python: what the vectors are held against.

Follows kube-scheduler's int64 and float64 operations one by one, in its order, with truncation towards zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.framework.contract import Code
from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.view import NodeInfo

SCALAR = "example.com/"


@dataclass(frozen=True)
class Amounts:
    """One resource on one node, and what the pod asks for."""

    offered: int
    used: int
    asked: int


def quotient(dividend: int, divisor: int) -> int:
    """Division of Go's ints."""
    magnitude = abs(dividend) // abs(divisor)
    return magnitude if (dividend >= 0) == (divisor > 0) else -magnitude


def shortage(pod: PodInfo, node: NodeInfo, *, allowed_pods: int, ignored: Sequence[str] = ()) -> tuple[Code, set[str]]:
    """The code and reasons of the filter; SUCCESS with none where the pod fits."""
    reasons = {"Too many pods"} if len(node.pods) + 1 > allowed_pods else set()
    code = Code.UNSCHEDULABLE
    for resource, asked in pod.signature.requests.items():
        if asked == 0 or resource in ignored:
            continue
        if asked > node.allocatable(resource) - node.requested(resource):
            reasons.add(f"Insufficient {resource}")
            if asked > node.allocatable(resource):
                code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    return (code, reasons) if reasons else (Code.SUCCESS, reasons)


def scored(pod: PodInfo, node: NodeInfo, resources: Sequence[str], *, defaulted: bool) -> list[Amounts]:
    """Amounts of the resources that count; `defaulted` for cpu and memory with a minimum for each container."""
    counted = []
    for resource in resources:
        asked = (pod.signature.scoring if defaulted else pod.signature.requests).get(resource, 0)
        offered = node.allocatable(resource)
        if offered == 0 or (asked == 0 and resource.startswith(SCALAR)):
            counted.append(Amounts(0, 0, 0))
            continue
        used = node.requested(resource)
        if defaulted and resource in ("cpu", "memory"):
            used = sum(each.signature.nonzero[("cpu", "memory").index(resource)] for each in node.pods.values())
        counted.append(Amounts(offered, used, asked))
    return counted


def least_allocated(amounts: Sequence[Amounts], weights: Sequence[int]) -> int:
    """The score by what is left."""
    score = weight_sum = 0
    for each, weight in zip(amounts, weights, strict=True):
        if each.offered:
            free = each.offered - each.used - each.asked
            score += weight * (quotient(free * 100, each.offered) if free >= 0 else 0)
            weight_sum += weight
    return quotient(score, weight_sum) if weight_sum else 0


def most_allocated(amounts: Sequence[Amounts], weights: Sequence[int]) -> int:
    """The score by what is used."""
    score = weight_sum = 0
    for each, weight in zip(amounts, weights, strict=True):
        if each.offered:
            score += weight * quotient(min(each.used + each.asked, each.offered) * 100, each.offered)
            weight_sum += weight
    return quotient(score, weight_sum) if weight_sum else 0


def requested_to_capacity(amounts: Sequence[Amounts], weights: Sequence[int], shape: Sequence[tuple[int, int]]) -> int:
    """The score by a piecewise linear function; `shape` has points of utilization and score (0 to 10)."""
    score = weight_sum = 0
    for each, weight in zip(amounts, weights, strict=True):
        if not each.offered:
            continue
        use = each.used + each.asked
        points = _broken_line(shape, 100 if use > each.offered else quotient(use * 100, each.offered))
        if points > 0:
            score += points * weight
            weight_sum += weight
    return math.floor(score / weight_sum + 0.5) if weight_sum else 0


def balanced(amounts: Sequence[Amounts]) -> int:
    """The score by the change of evenness."""
    with_pod = _evenness([(each.used + each.asked, each.offered) for each in amounts])
    without = _evenness([(each.used, each.offered) for each in amounts])
    return 50 + quotient(50 + with_pod - without, 2)


def _broken_line(shape: Sequence[tuple[int, int]], percent: int) -> int:
    scaled = [(utilization, score * 10) for utilization, score in shape]
    for index, (utilization, score) in enumerate(scaled):
        if percent <= utilization:
            if index == 0:
                return score
            before, low = scaled[index - 1]
            return low + quotient((score - low) * (percent - before), utilization - before)
    return scaled[-1][1]


def _evenness(use: Sequence[tuple[int, int]]) -> int:
    fractions = [min(float(used) / float(offered), 1.0) for used, offered in use if offered]
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = _in_order(fractions) / len(fractions)
        deviation = math.sqrt(_in_order([(each - mean) * (each - mean) for each in fractions]) / len(fractions))
    return int((1 - deviation) * 100.0)


def _in_order(terms: Sequence[float]) -> float:
    # Not sum(), which since Python 3.12 corrects rounding errors that kube-scheduler makes.
    total = 0.0
    for term in terms:
        total = total + term
    return total


def allowed_pods(allocatable: Mapping[str, str]) -> int:
    """How many pods a node with these allocatable amounts takes."""
    return int(allocatable.get("pods", "0"))
