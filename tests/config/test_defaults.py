"""The values of a configuration that says nothing."""

import pytest

from muster.framework.config import KubeSchedulerProfile, default_configuration
from muster.framework.config.args import ARGS_MODELS
from tests.config.texts import configuration, with_args


def test_a_file_without_fields_has_the_defaults_of_kube_scheduler() -> None:
    config = configuration()
    election = config.leader_election
    assert config.parallelism == 16
    assert (election.leader_elect, election.resource_lock) == (True, "leases")
    assert (election.lease_duration, election.renew_deadline, election.retry_period) == (15.0, 10.0, 2.0)
    assert (election.resource_namespace, election.resource_name) == ("kube-system", "kube-scheduler")
    assert config.client_connection.content_type == "application/vnd.kubernetes.protobuf"
    assert (config.enable_profiling, config.enable_contention_profiling) == (True, True)
    assert (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds) == (1, 10)
    assert config.delay_cache_until_active is False
    assert config.extenders == ()
    assert config.profiles == (KubeSchedulerProfile(scheduler_name="default-scheduler"),)


def test_zero_and_null_mean_the_default_where_go_cannot_distinguish_them_from_absence() -> None:
    config = configuration(
        "leaderElection: {leaseDuration: 0s, resourceName: '', renewDeadline: null}\n"
        "extenders: [{httpTimeout: 0s}]\nparallelism: ~\nprofiles: null\n"
    )
    assert config.leader_election == configuration().leader_election
    assert config.extenders[0].http_timeout == 5.0
    assert config.parallelism == 16
    assert config.scheduler_names == ("default-scheduler",)


@pytest.mark.parametrize(
    ("text", "qps", "burst"),
    [("", None, None), ("qps: 0, burst: 0", None, None), ("qps: 1e2, burst: 7", 100.0, 7), ("qps: -1", -1.0, None)],
)
def test_an_absent_request_limit_is_distinguished_from_a_set_one(
    text: str, qps: float | None, burst: int | None
) -> None:
    client = configuration(f"clientConnection: {{{text}}}").client_connection
    assert (client.qps, client.burst) == (qps, burst)


@pytest.mark.parametrize(
    ("text", "percentage"), [("", None), ("percentageOfNodesToScore: 0", 0), ("percentageOfNodesToScore: 30", 30)]
)
def test_an_absent_percentage_is_distinguished_from_zero(text: str, percentage: int | None) -> None:
    assert configuration(text).percentage_of_nodes_to_score == percentage


@pytest.mark.parametrize(
    ("text", "contention"),
    [
        ("enableProfiling: false", False),
        ("enableProfiling: false\nenableContentionProfiling: true", True),
        ("enableContentionProfiling: false", False),
    ],
)
def test_contention_is_profiled_by_default_when_anything_is(text: str, contention: bool) -> None:
    assert configuration(text).enable_contention_profiling is contention


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("profiles: []", ("default-scheduler",)),
        ("profiles: [{}]", ("default-scheduler",)),
        ("profiles: [null]", ("default-scheduler",)),
        ("profiles: [{schedulerName: one}]", ("one",)),
        ("profiles: [{schedulerName: one}, {schedulerName: two}]", ("one", "two")),
    ],
)
def test_only_a_profile_that_is_alone_is_named_by_default(body: str, names: tuple[str, ...]) -> None:
    assert configuration(body).scheduler_names == names


def test_without_a_file_muster_goes_by_its_own_name() -> None:
    config = default_configuration()
    assert config.scheduler_names == ("muster",)
    assert config.leader_election.resource_name == "muster"
    assert (
        config.model_copy(
            update={"leader_election": configuration().leader_election, "profiles": configuration().profiles}
        )
        == configuration()
    )


ARGS_DEFAULTS = {
    "DefaultPreemption": {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100},
    "DynamicResources": {"filterTimeout": "10s", "bindingTimeout": "10m0s"},
    "InterPodAffinity": {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False},
    "NodeAffinity": {"addedAffinity": None},
    "NodeResourcesBalancedAllocation": {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]},
    "NodeResourcesFit": {
        "ignoredResources": [],
        "ignoredResourceGroups": [],
        "scoringStrategy": {
            "type": "LeastAllocated",
            "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
            "requestedToCapacityRatio": None,
        },
    },
    "PodTopologySpread": {"defaultConstraints": [], "defaultingType": "System"},
    "VolumeBinding": {
        "bindTimeoutSeconds": 600,
        "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}],
    },
}


@pytest.mark.parametrize("args", ["{}", "null"])
@pytest.mark.parametrize("plugin", ARGS_MODELS)
def test_empty_arguments_have_the_defaults_of_kube_scheduler(plugin: str, args: str) -> None:
    decoded = configuration(with_args(plugin, args)).profiles[0].plugin_config[0].args
    assert isinstance(decoded, ARGS_MODELS[plugin])
    assert decoded.model_dump(mode="json", by_alias=True) == ARGS_DEFAULTS[plugin]


def test_a_resource_without_weight_weighs_one() -> None:
    body = with_args(
        "NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, resources: [{name: a}, {name: b, weight: 0}]}}"
    )
    strategy = configuration(body).profiles[0].plugin_config[0].args.scoring_strategy
    assert [(resource.name, resource.weight) for resource in strategy.resources] == [("a", 1), ("b", 1)]


def test_extenders_that_may_fail_are_called_last() -> None:
    config = configuration("extenders: [{urlPrefix: a, ignorable: true}, {urlPrefix: b}, {urlPrefix: c}]")
    assert [extender.url_prefix for extender in config.ordered_extenders] == ["b", "c", "a"]
