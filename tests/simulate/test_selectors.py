"""The selector of a pod, part by part, with how many nodes match it."""

from typing import Any

import msgspec
import pytest

from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.operator.explain.group_trial import sentences, try_group
from muster.operator.explain.live import explain_among
from muster.operator.explain.tables import render
from muster.operator.simulate.selectors import selector_sentence
from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.simulate.rehearsing import GANG_ID, member, muster, objects, pod_group


def labelled(name: str, **labels: str) -> NodeDict:
    return NodeDict(make_node(name), metadata={"name": name, "labels": labels})


NODES = [labelled("one", disk="fast", zone="a"), labelled("two", disk="fast", zone="b"), labelled("three", size="7")]


def requiring(*terms: dict[str, Any], name: str = "web", **selector: str) -> PodDict:
    pod = make_pod(name)
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    pod["spec"] |= {"nodeSelector": selector, **({"affinity": {"nodeAffinity": required}} if terms else {})}
    return pod


def labels(*expressions: tuple[str, str, list[str]]) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": how, "values": values} for key, how, values in expressions]}


@pytest.mark.parametrize(
    ("pod", "sentence"),
    [
        (make_pod("web"), ""),
        (requiring(labels(("disk", "In", ["fast"])), labels(("disk", "DoesNotExist", []))), ""),
        (requiring(disk="fast"), "disk=fast (2 of 3 nodes match)."),
        (
            requiring(disk="fast", zone="c"),
            "disk=fast (2 of 3 nodes match), zone=c (0 of 3 nodes match); 0 of 3 match all of it.",
        ),
        (
            requiring(labels(("zone", "In", ["a", "b"]), ("disk", "NotIn", ["fast"])), labels(("size", "Gt", ["9"]))),
            "zone in (a, b) (2 of 3 nodes match) and disk!=fast (1 of 3 nodes match) or size > 9 (0 of 3 nodes match).",
        ),
        (
            requiring(labels(("size", "Exists", []), ("disk", "DoesNotExist", []), ("size", "Lt", ["5"]))),
            "size (1 of 3 nodes match) and !disk (1 of 3 nodes match) and size < 5 (0 of 3 nodes match).",
        ),
        (
            requiring({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["four"]}]}, disk="fast"),
            "disk=fast (2 of 3 nodes match), metadata.name=four (0 of 3 nodes match); 0 of 3 match all of it.",
        ),
        (requiring({}), "a term that matches no node."),
    ],
)
def test_each_part_is_shown_with_the_number_of_nodes_that_match_it(pod: PodDict, sentence: str) -> None:
    nodes = [msgspec.convert(dict(each), Node) for each in NODES]
    told_of = selector_sentence(msgspec.convert(dict(pod), Pod), nodes)
    assert told_of == (f"Its node selector: {sentence}" if sentence else "")


async def test_why_shows_the_selector_of_a_pod_and_of_the_member_of_a_group_that_finds_no_node() -> None:
    sentence = "Its node selector: disk=slow (0 of 3 nodes match)."
    pod = msgspec.convert(dict(requiring(disk="slow")), Pod)
    explained = await explain_among(muster(), objects(*NODES), PodInfo(pod))
    assert sentence in [*render(explained)]

    gang = [member(f"m-{number}", "gang") for number in range(2)]
    cluster = objects(*NODES, pod_group("gang", 2), gang[0], gang[1].node_selector({"disk": "slow"}))
    trial = await try_group(muster(), cluster, GANG_ID)
    assert trial is not None
    assert sentence in sentences(trial)
