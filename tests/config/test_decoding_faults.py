"""Documents that do not decode: another kind of object, unknown fields, values of the wrong type."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.config import ARGS_MODELS, ConfigurationError, KubeSchedulerConfiguration, load
from tests.config.texts import ARGS_PATH, HEAD, configuration, faults, with_args

VERSION = "kubescheduler.config.k8s.io/v1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Object 'Kind' is missing in 'config.yaml'"),
        (f"apiVersion: {VERSION}", "Object 'Kind' is missing in 'config.yaml'"),
        ("kind: KubeSchedulerConfiguration", "Object 'apiVersion' is missing in 'config.yaml'"),
        (
            f"apiVersion: {VERSION}beta3\nkind: KubeSchedulerConfiguration",
            f'no kind "KubeSchedulerConfiguration" is registered for version "{VERSION}beta3": '
            f'did you mean "{VERSION}"?',
        ),
        (f"apiVersion: {VERSION}\nkind: Pod", f'no kind "Pod" is registered for version "{VERSION}"'),
        ("[1]", "couldn't get version/kind; json parse error: json: cannot unmarshal array into an object"),
        ("text", "couldn't get version/kind; json parse error: json: cannot unmarshal string into an object"),
    ],
)
def test_another_kind_of_object_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(text, "config.yaml")
    assert str(caught.value) == f"config.yaml: {message}"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("foo: 1", "foo"),
        ("Parallelism: 1", "Parallelism"),
        ("leader_election: {}", "leader_election"),
        ("percentageOfPlacementsToScore: 5", "percentageOfPlacementsToScore"),
        ("leaderElection: {leaderElected: true}", "leaderElection.leaderElected"),
        ("clientConnection: {qsp: 1}", "clientConnection.qsp"),
        ("profiles: [{}, {name: x}]", "profiles[1].name"),
        ("profiles: [{plugins: {placementFeasible: {}}}]", "profiles[0].plugins.placementFeasible"),
        (
            "profiles: [{plugins: {score: {enabled: [{name: a}, {nam: b}]}}}]",
            "profiles[0].plugins.score.enabled[1].nam",
        ),
        ("extenders: [{tlsConfig: {cert: x}}]", "extenders[0].tlsConfig.cert"),
        (with_args("NodeAffinity", "{fo: 1}"), f"{ARGS_PATH}.fo"),
        (
            with_args("NodeResourcesFit", "{scoringStrategy: {resources: [{Name: cpu}]}}"),
            f"{ARGS_PATH}.scoringStrategy.resources[0].Name",
        ),
        (
            with_args("NodeAffinity", "{addedAffinity: {requiredDuringScheduling: {}}}"),
            f"{ARGS_PATH}.addedAffinity.requiredDuringScheduling",
        ),
        (
            with_args("PodTopologySpread", "{defaultConstraints: [{skew: 1}]}"),
            f"{ARGS_PATH}.defaultConstraints[0].skew",
        ),
    ],
)
def test_an_unknown_field_is_refused_with_its_path(body: str, field: str) -> None:
    assert faults(body)[0] == f'strict decoding error: unknown field "{field}"'


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("parallelism: many", 'parallelism: Invalid value: "many": cannot unmarshal string into field of type int32'),
        ("parallelism: '16'", 'parallelism: Invalid value: "16": cannot unmarshal string into field of type int32'),
        ("parallelism: true", "parallelism: Invalid value: true: cannot unmarshal bool into field of type int32"),
        ("parallelism: 1.5", "parallelism: Invalid value: 1.5: cannot unmarshal number 1.5 into field of type int32"),
        (
            "parallelism: 2147483648",
            "parallelism: Invalid value: 2147483648: cannot unmarshal number 2147483648 into field of type int32",
        ),
        (
            "podMaxBackoffSeconds: 2001-01-01",
            'podMaxBackoffSeconds: Invalid value: "2001-01-01": cannot unmarshal string into field of type int64',
        ),
        (
            "delayCacheUntilActive: 'true'",
            'delayCacheUntilActive: Invalid value: "true": cannot unmarshal string into field of type bool',
        ),
        (
            "clientConnection: {qps: fast}",
            'clientConnection.qps: Invalid value: "fast": cannot unmarshal string into field of type float32',
        ),
        ("profiles: {}", "profiles: Invalid value: {}: cannot unmarshal object into field of type array"),
        ("profiles: [5]", "profiles[0]: Invalid value: 5: cannot unmarshal number into field of type object"),
        (
            "profiles: [{schedulerName: 5}]",
            "profiles[0].schedulerName: Invalid value: 5: cannot unmarshal number into field of type string",
        ),
        ("leaderElection: []", "leaderElection: Invalid value: []: cannot unmarshal array into field of type object"),
        (
            "leaderElection: {leaseDuration: 15}",
            "leaderElection.leaseDuration: Invalid value: 15: cannot unmarshal number into field of type string",
        ),
        (
            "leaderElection: {leaseDuration: '15'}",
            'leaderElection.leaseDuration: Invalid value: "15": time: missing unit in duration "15"',
        ),
        (
            "extenders: [{tlsConfig: {certData: 'aGVs@@=='}}]",
            'extenders[0].tlsConfig.certData: Invalid value: "aGVs@@==": illegal base64 data at input byte 4',
        ),
        (
            with_args("NodeAffinity", "5"),
            f"{ARGS_PATH}: Invalid value: 5: cannot unmarshal number into field of type object",
        ),
        (
            with_args("InterPodAffinity", "{hardPodAffinityWeight: many}"),
            f'{ARGS_PATH}.hardPodAffinityWeight: Invalid value: "many":'
            " cannot unmarshal string into field of type int32",
        ),
        (
            with_args("NodeAffinity", "{kind: InterPodAffinityArgs}"),
            f'{ARGS_PATH}: Invalid value: {{"kind":"InterPodAffinityArgs"}}: has to match plugin args',
        ),
        (
            with_args("NodeAffinity", "{apiVersion: v1}"),
            f'{ARGS_PATH}: Invalid value: {{"apiVersion":"v1"}}: has to match plugin args',
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_its_path(body: str, fault: str) -> None:
    assert faults(body) == [fault]


def test_all_faults_are_reported_together() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(HEAD + "parallelism: many\nfoo: 1\nfoo: 2\nprofiles: [{schedulerName: 5}]\n", "config.yaml")
    paths = [problem.path for problem in caught.value.errors]
    assert paths == ["foo", "parallelism", "profiles[0].schedulerName", "foo"]
    assert str(caught.value) == f"config.yaml: [{', '.join(problem.text for problem in caught.value.errors)}]"


def test_a_fault_is_reported_once() -> None:
    repeated = with_args("VolumeBinding", "{bindTimeoutSeconds: -1}")
    with pytest.raises(ConfigurationError) as caught:
        configuration(repeated)
    error = ConfigurationError([*caught.value.errors, *caught.value.errors])
    assert error.errors == caught.value.errors


def test_arguments_may_name_their_version_and_kind() -> None:
    body = with_args(
        "InterPodAffinity", f"{{apiVersion: {VERSION}, kind: InterPodAffinityArgs, hardPodAffinityWeight: 7}}"
    )
    assert configuration(body).profiles[0].plugin_config[0].args.hard_pod_affinity_weight == 7


def test_arguments_of_other_plugins_stay_as_they_are() -> None:
    entry = (
        configuration(with_args("Coscheduling", "{kind: CoschedulingArgs, permitWaitingTimeSeconds: null}"))
        .profiles[0]
        .plugin_config[0]
    )
    assert entry.args == {"kind": "CoschedulingArgs", "permitWaitingTimeSeconds": None}


def test_a_null_in_a_list_is_an_empty_element() -> None:
    config = configuration("profiles: [{plugins: {filter: {enabled: [null]}}}]")
    assert [plugin.name for plugin in config.profiles[0].plugins.filter.enabled] == [""]
    fit = configuration(
        with_args("NodeAffinity", "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [null]}}")
    )
    assert fit.profiles[0].plugin_config[0].args.added_affinity == {
        "preferredDuringSchedulingIgnoredDuringExecution": [{}]
    }


FIELDS = ["name", "args", "enabled", "weight", "plugins", "filter", "pluginConfig", "schedulerName", "shape", "kind"]
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=3))
TREES = st.recursive(
    st.one_of(SCALARS, st.sampled_from(sorted(ARGS_MODELS))),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)),
    max_leaves=12,
)
TOP = [field.alias or name for name, field in KubeSchedulerConfiguration.model_fields.items()]


@given(st.dictionaries(st.sampled_from(TOP), TREES, max_size=3), st.lists(TREES, max_size=2))
def test_any_file_is_read_or_refused_with_reasons(fields: dict[str, object], profiles: object) -> None:
    document = {"apiVersion": VERSION, "kind": "KubeSchedulerConfiguration", "profiles": profiles, **fields}
    outcome = loaded(json.dumps(document))
    if isinstance(outcome, ConfigurationError):
        assert outcome.errors
        assert str(outcome).startswith("config.json: ")
    else:
        assert outcome.profiles


def loaded(text: str) -> KubeSchedulerConfiguration | ConfigurationError:
    """The configuration in `text`, or why there is none."""
    try:
        return load(text, "config.json")
    except ConfigurationError as error:
        return error
