"""PodLimits: what there is too much of is named with its number, and the most that a profile allows."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from muster.framework.config import ConfigurationError, load, resolve
from muster.framework.contract import CycleState, Status
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.plugins.catalog import ALWAYS, DEFAULTS, IN_TREE, KNOWN_UNIMPLEMENTED, extension_points, guarded
from muster.plugins.limits.pod_limits import PodLimits, PodLimitsArgs
from muster.plugins.limits.sizes import SIZES
from tests.builders import PodDict, make_node, make_pod, require
from tests.plugins.cluster import Cluster

ONE = require("disk", "In", "ssd")


def containers(number: int) -> PodDict:
    pod = make_pod("web")
    for index in range(number - 1):
        pod.container(f"c{index}") if index % 2 else pod.init_container(f"c{index}")
    return pod


def repeated(add: Callable[[PodDict, int], object]) -> Callable[[int], PodDict]:
    """A pod on which something is done so many times."""

    def build(number: int) -> PodDict:
        pod = make_pod("web")
        for index in range(number):
            add(pod, index)
        return pod

    return build


BUILDERS: dict[str, Callable[[int], PodDict]] = {
    "containers": containers,
    "requested_resources": repeated(lambda pod, n: pod.requests({f"example.com/{n}": "1"})),
    "host_ports": repeated(lambda pod, n: pod.host_port(n + 1)),
    "tolerations": repeated(lambda pod, n: pod.tolerate(f"k{n}")),
    "node_selector_labels": repeated(lambda pod, n: pod.node_selector({f"k{n}": "x"})),
    "node_affinity_expressions": repeated(lambda pod, n: pod.prefer_nodes(1, ONE) if n % 2 else pod.require_nodes(ONE)),
    "joint_node_affinity_expressions": lambda number: make_pod("web").require_nodes(*[ONE] * number),
    "node_affinity_values": lambda number: make_pod("web").require_nodes(
        require("disk", "In", *(f"v{n}" for n in range(number)))
    ),
    "pod_affinity_terms": repeated(
        lambda pod, n: [pod.near, pod.apart][n % 2]("zone", {"app": "x"}, weight=[None, 1][n // 2 % 2])
    ),
    "topology_spread_constraints": repeated(lambda pod, n: pod.spread("zone", {"app": "x"}, max_skew=n + 1)),
    "selector_parts": lambda number: make_pod("web").near("zone", {f"k{n}": "x" for n in range(number)}),
    "volumes": repeated(lambda pod, n: pod.claim(f"c{n}")),
    "resource_claims": lambda number: _with(resourceClaims=[{"name": f"c{n}"} for n in range(number)]),
}


def _with(**spec: Any) -> PodDict:
    pod = make_pod("web")
    pod["spec"].update(spec)
    return pod


def judged(pod: PodDict, args: PodLimitsArgs | None = None) -> Status | None:
    cluster = Cluster(make_node("n"))
    info = PodInfo(msgspec.convert(dict(pod), Pod))
    return cluster.plugin(PodLimits, args).pre_filter(CycleState(), info, cluster.view())


@pytest.mark.parametrize("limit", SIZES)
def test_a_pod_may_have_as_much_as_the_limit_and_no_more(limit: str) -> None:
    args = PodLimitsArgs(**{limit: 6})
    words, _ = SIZES[limit]
    assert judged(BUILDERS[limit](6), args) is None
    assert judged(BUILDERS[limit](7), args) == Status.unresolvable(f"too many {words}: 7, at most 6")


def test_everything_that_there_is_too_much_of_is_named() -> None:
    pod = make_pod("web").container("second").tolerate("a").tolerate("b")
    assert judged(pod, PodLimitsArgs(containers=1, tolerations=1)) == Status.unresolvable(
        "too many containers: 2, at most 1", "too many tolerations: 2, at most 1"
    )


def test_pods_as_people_write_them_are_far_below_the_limits() -> None:
    assert judged(containers(20).requests({f"example.com/{n}": "1" for n in range(50)})) is None


@pytest.mark.parametrize("limit", ["pod_affinity_terms", "topology_spread_constraints"])
def test_sixty_four_terms_and_constraints_are_no_more_than_a_pod_may_have(limit: str) -> None:
    assert judged(BUILDERS[limit](64)) is None
    words, _ = SIZES[limit]
    assert judged(BUILDERS[limit](65)) == Status.unresolvable(f"too many {words}: 65, at most 64")


def resolved(text: str) -> Any:
    registry = IN_TREE
    [profile] = resolve(
        load(text.encode(), "config.yaml"),
        defaults=DEFAULTS,
        extends={name: extension_points(plugin) for name, plugin in registry.items()},
        args_models={name: plugin.args_model for name, plugin in registry.items() if plugin.args_model is not None},
        known_unimplemented=KNOWN_UNIMPLEMENTED,
        always=ALWAYS,
    )
    return guarded(profile)


HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.mark.parametrize(
    "plugins",
    [
        "",
        "plugins: {multiPoint: {enabled: [{name: PodLimits}]}}, ",
        "plugins: {preFilter: {disabled: [{name: '*'}]}}, ",
    ],
)
def test_every_profile_runs_it_first_and_may_configure_it(plugins: str) -> None:
    config = "pluginConfig: [{name: PodLimits, args: {containers: 7}}]"
    profile = resolved(f"{HEAD}profiles: [{{{plugins}{config}}}]\n")
    assert profile.points["preFilter"][0].name == "PodLimits"
    assert [ref.name for ref in profile.points["preFilter"]].count("PodLimits") == 1
    assert profile.args["PodLimits"].containers == 7


def test_the_default_limits_are_the_defaults_of_the_model() -> None:
    assert resolved(HEAD).args["PodLimits"] == PodLimitsArgs()


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ("{containers: 0}", "containers: Invalid value: 0: must be positive"),
        ("{podAffinityTerms: 257}", "podAffinityTerms: Invalid value: 257: must be 256 at most"),
        ("{podAffinityTerms: -1}", "podAffinityTerms: Invalid value: -1: must be positive"),
        ("{pods: 1}", 'unknown field "profiles[0].pluginConfig[0].args.pods"'),
    ],
)
def test_limits_that_make_no_sense_are_refused(args: str, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault.replace("[", r"\[")):
        resolved(f"{HEAD}profiles: [{{pluginConfig: [{{name: PodLimits, args: {args}}}]}}]\n")
