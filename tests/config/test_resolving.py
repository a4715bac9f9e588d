"""From a configuration to what each profile runs, and what stands in the way."""

import json
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator

from muster.framework.config import ConfigurationError, decode_plugin_args, default_configuration, load, resolve
from muster.framework.config.args import InterPodAffinityArgs, NodeResourcesFitArgs
from tests.config.catalog import DEFAULTS, EXTENDS, names, resolved
from tests.config.texts import configuration, with_args

CONFIGURATIONS = (Path(__file__).parent / "data" / "configurations.jsonl").read_text().splitlines()


class CoschedulingArgs(BaseModel):
    """A third party's arguments, in plain pydantic."""

    model_config = ConfigDict(extra="forbid")

    permit_waiting_time_seconds: int = Field(default=60, alias="permitWaitingTimeSeconds", ge=1)
    mode: str = "plain"

    @field_validator("mode")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in ("plain", "fancy"):
            raise ValueError("must be plain or fancy")
        return value


class DemandingArgs(BaseModel):
    """Arguments that must be given."""

    url: str


WITH_COSCHEDULING = {
    "extends": {**EXTENDS, "Coscheduling": frozenset({"preFilter", "permit", "postFilter"})},
    "args_models": {"Coscheduling": CoschedulingArgs},
}
ENABLED = "plugins: {multiPoint: {enabled: [{name: Coscheduling}]}}"


def refused(body: str, **options: object) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        resolved(body, **options)
    return [problem.text for problem in caught.value.errors]


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_real_configurations_load_and_resolve(text: str) -> None:
    config = load(text, "config.yaml")
    (profile,) = resolve(config, defaults=DEFAULTS, extends=EXTENDS)
    assert profile.scheduler_name == "default-scheduler"
    assert names(profile, "bind") == ["DefaultBinder"]
    for entry in json.loads(text)["profiles"][0].get("pluginConfig", []):
        given = {key: value for key, value in entry["args"].items() if key not in ("apiVersion", "kind")}
        decoded = profile.args[entry["name"]]
        assert isinstance(decoded, BaseModel)
        assert decoded.model_dump(mode="json", by_alias=True, exclude_unset=True) == given


@pytest.mark.parametrize("text", [*CONFIGURATIONS[:5], default_configuration().model_dump_json(by_alias=True)])
def test_a_dumped_configuration_loads_as_the_same(text: str) -> None:
    config = load(text, "config.yaml")
    assert load(yaml.safe_dump(config.model_dump(mode="json", by_alias=True)), "dumped.yaml") == config


def test_every_profile_is_resolved_in_order() -> None:
    profiles = resolved(
        "percentageOfNodesToScore: 40\n"
        "profiles:\n- {schedulerName: a, percentageOfNodesToScore: 0}\n- {schedulerName: b}\n"
        "- {schedulerName: c, percentageOfNodesToScore: 7}\n"
    )
    assert [(profile.scheduler_name, profile.percentage_of_nodes_to_score) for profile in profiles] == [
        ("a", 0),
        ("b", 40),
        ("c", 7),
    ]
    assert resolved()[0].percentage_of_nodes_to_score is None


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        ("filter: {enabled: [{name: Nope}]}", ['filter: FilterPlugin "Nope" does not exist']),
        (
            "filter: {enabled: [{name: EBS}, {name: ABC}]}",
            ['filter: FilterPlugin "EBS" does not exist', 'filter: FilterPlugin "ABC" does not exist'],
        ),
        ("multiPoint: {enabled: [{name: Nope}]}", ['multiPoint: PreFilterPlugin "Nope" does not exist']),
        (
            "preFilter: {disabled: [{name: '*'}]}, multiPoint: {enabled: [{name: Nope}]}",
            ['multiPoint: FilterPlugin "Nope" does not exist'],
        ),
        (
            "filter: {enabled: [{name: ImageLocality}]}",
            ['filter: plugin "ImageLocality" does not extend FilterPlugin plugin'],
        ),
        (
            "filter: {enabled: [{name: NodeName}, {name: NodeName}]}",
            ['filter: plugin "NodeName" already registered as "FilterPlugin"'],
        ),
        (
            "multiPoint: {enabled: [{name: ImageLocality}, {name: ImageLocality}]}",
            ['multiPoint: plugin "ImageLocality" already registered as "ScorePlugin"'],
        ),
        (
            "queueSort: {disabled: [{name: '*'}]}",
            ['queueSort: only one queue sort plugin required for profile with scheduler name "s", but got 0'],
        ),
        (
            "bind: {disabled: [{name: DefaultBinder}]}",
            ['bind: at least one bind plugin is needed for profile with scheduler name "s"'],
        ),
        (
            "score: {enabled: [{name: NodeAffinity, weight: -1}]}",
            ["score: score plugins: total score of Score plugins could overflow"],
        ),
        (
            "placementScore: {enabled: [{name: NodeResourcesFit, weight: -1}]}, filter: {enabled: [{name: A}]}",
            ['filter: FilterPlugin "A" does not exist'],
        ),
    ],
)
def test_plugins_that_cannot_run_are_refused(plugins: str, expected: list[str]) -> None:
    found = refused(f"profiles: [{{schedulerName: s, plugins: {{{plugins}}}}}]")
    assert found == [f"profiles[0].plugins.{fault}" for fault in expected]


def test_at_most_one_plugin_generates_placements() -> None:
    extends = {**EXTENDS, "A": frozenset({"placementGenerate"}), "B": frozenset({"placementGenerate"})}
    body = "profiles: [{plugins: {multiPoint: {enabled: [{name: A}, {name: B}]}}}]"
    assert refused(body, extends=extends) == [
        "profiles[0].plugins.placementGenerate: at most one placement generate plugin is allowed"
        ' for profile with scheduler name "default-scheduler"'
    ]


def test_two_queue_sort_plugins_are_one_too_many() -> None:
    extends = {**EXTENDS, "Other": frozenset({"queueSort"})}
    body = "profiles: [{schedulerName: s, plugins: {multiPoint: {enabled: [{name: Other}]}}}]"
    assert refused(body, extends=extends) == [
        "profiles[0].plugins.queueSort: only one queue sort plugin required"
        ' for profile with scheduler name "s", but got 2'
    ]


def test_faults_of_all_profiles_are_reported_together() -> None:
    body = (
        "profiles:\n- {schedulerName: a, plugins: {filter: {enabled: [{name: A}]}}}\n"
        "- {schedulerName: b, plugins: {bind: {disabled: [{name: '*'}]}}}\n"
    )
    assert refused(body) == [
        'profiles[0].plugins.filter: FilterPlugin "A" does not exist',
        'profiles[1].plugins.bind: at least one bind plugin is needed for profile with scheduler name "b"',
    ]


SORTERS = {**EXTENDS, "Other": frozenset({"queueSort"})}
TWO = (
    "profiles:\n- {schedulerName: a}\n"
    "- {schedulerName: b, plugins: {multiPoint: {disabled: [{name: PrioritySort}], enabled: [{name: Other}]}}}\n"
)


def test_profiles_that_get_different_queue_sort_plugins_through_multi_point_are_refused() -> None:
    assert refused(TWO, extends=SORTERS) == [
        'profiles[1]: different queue sort plugins for profile "b": "Other", first: "PrioritySort"'
    ]


def test_profiles_that_give_the_queue_sort_plugin_different_arguments_are_refused() -> None:
    body = "profiles: [{schedulerName: a}, {schedulerName: b, pluginConfig: [{name: PrioritySort, args: {x: 1}}]}]"
    assert refused(body) == ['profiles[1]: different queue sort plugin args for profile "b"']


def test_plugins_that_muster_does_not_have_yet_are_left_out_and_named() -> None:
    extends = {name: points for name, points in EXTENDS.items() if name not in ("VolumeBinding", "VolumeZone")}
    missing = frozenset({"VolumeBinding", "VolumeZone", "GangScheduling", "NodeName"})
    body = (
        "profiles: [{plugins: {multiPoint: {enabled: [{name: GangScheduling}]},"
        " score: {enabled: [{name: VolumeBinding}]}, filter: {disabled: [{name: VolumeZone}]}}}]"
    )
    (profile,) = resolved(body, extends=extends, known_unimplemented=missing)
    assert profile.unimplemented == ("GangScheduling", "VolumeBinding")
    assert not missing - {"NodeName"} & {plugin.name for plugins in profile.points.values() for plugin in plugins}
    assert "NodeName" in names(profile, "filter")


def test_arguments_for_a_plugin_that_muster_does_not_have_yet_name_it_too() -> None:
    extends = {name: points for name, points in EXTENDS.items() if name != "VolumeBinding"}
    (profile,) = resolved(
        with_args("VolumeBinding", "{}"), extends=extends, known_unimplemented=frozenset({"VolumeBinding"})
    )
    assert profile.unimplemented == ("VolumeBinding",)
    assert "VolumeBinding" not in profile.args


def test_defaults_that_muster_does_not_have_yet_are_not_named() -> None:
    extends = {name: points for name, points in EXTENDS.items() if name != "VolumeZone"}
    (profile,) = resolved(extends=extends, known_unimplemented=frozenset({"VolumeZone"}))
    assert profile.unimplemented == ()


def test_every_plugin_that_takes_arguments_gets_them() -> None:
    (profile,) = resolved(with_args("InterPodAffinity", "{hardPodAffinityWeight: 7}"))
    assert profile.args["InterPodAffinity"] == InterPodAffinityArgs(hard_pod_affinity_weight=7)
    assert profile.args["NodeResourcesFit"] == NodeResourcesFitArgs()
    assert "NodeName" not in profile.args


def test_arguments_of_plugins_that_do_not_run_are_left_out() -> None:
    (profile,) = resolved(
        "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeAffinity}]}},"
        " pluginConfig: [{name: NodeAffinity}, {name: Foo, args: 5}]}]"
    )
    assert "NodeAffinity" not in profile.args
    assert "Foo" not in profile.args


def test_resources_that_extenders_care_for_are_ignored_by_the_fit() -> None:
    extenders = "extenders: [{managedResources: [{name: e.com/a, ignoredByScheduler: true}, {name: e.com/b}]}]\n"
    (profile,) = resolved(extenders + with_args("NodeResourcesFit", "{ignoredResources: [e.com/c]}"))
    fit = profile.args["NodeResourcesFit"]
    assert isinstance(fit, NodeResourcesFitArgs)
    assert fit.ignored_resources == ("e.com/a",)


def test_a_third_party_plugin_gets_its_own_model() -> None:
    args = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: CoschedulingArgs, permitWaitingTimeSeconds: 5}"
    body = f"profiles: [{{{ENABLED}, pluginConfig: [{{name: Coscheduling, args: {args}}}]}}]"
    (profile,) = resolved(body, **WITH_COSCHEDULING)
    assert profile.args["Coscheduling"] == CoschedulingArgs(permitWaitingTimeSeconds=5)


def test_a_third_party_plugin_without_arguments_gets_the_defaults_of_its_model() -> None:
    (profile,) = resolved(f"profiles: [{{{ENABLED}}}]", **WITH_COSCHEDULING)
    assert profile.args["Coscheduling"] == CoschedulingArgs()


def test_a_third_party_plugin_without_model_gets_plain_values() -> None:
    body = f"profiles: [{{{ENABLED}, pluginConfig: [{{name: Coscheduling, args: {{a: [1, null]}}}}]}}]"
    (profile,) = resolved(body, extends=WITH_COSCHEDULING["extends"])
    assert profile.args["Coscheduling"] == {"a": [1, None]}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("{foo: 1}", ['strict decoding error: unknown field "profiles[0].pluginConfig[0].args.foo"']),
        (
            "{permitWaitingTimeSeconds: soon, mode: odd}",
            [
                'profiles[0].pluginConfig[0].args.permitWaitingTimeSeconds: Invalid value: "soon":'
                " cannot unmarshal string into field of type int64",
                'profiles[0].pluginConfig[0].args.mode: Invalid value: "odd": must be plain or fancy',
            ],
        ),
        (
            "{permitWaitingTimeSeconds: 0}",
            [
                "profiles[0].pluginConfig[0].args.permitWaitingTimeSeconds: Invalid value: 0:"
                " Input should be greater than or equal to 1"
            ],
        ),
        (
            "{kind: OtherArgs}",
            ['profiles[0].pluginConfig[0].args: Invalid value: {"kind":"OtherArgs"}: has to match plugin args'],
        ),
        (
            "[1]",
            ["profiles[0].pluginConfig[0].args: Invalid value: [1]: cannot unmarshal array into field of type object"],
        ),
    ],
)
def test_faults_in_third_party_arguments_carry_their_place(args: str, expected: list[str]) -> None:
    body = f"profiles: [{{{ENABLED}, pluginConfig: [{{name: Coscheduling, args: {args}}}]}}]"
    assert refused(body, **WITH_COSCHEDULING) == expected


def test_arguments_that_must_be_given_are_asked_for() -> None:
    options = {**WITH_COSCHEDULING, "args_models": {"Coscheduling": DemandingArgs}}
    assert refused(f"profiles: [{{{ENABLED}}}]", **options) == [
        'profiles[0].pluginConfig["Coscheduling"].args.url: Required value'
    ]


def test_a_plugin_can_decode_its_arguments_by_itself() -> None:
    args = decode_plugin_args(DemandingArgs, {"kind": "DemandingArgs", "url": "x"}, name="Demanding", path="args")
    assert args == DemandingArgs(url="x")


def test_a_resolved_profile_cannot_be_changed() -> None:
    (profile,) = resolved()
    with pytest.raises(TypeError):
        profile.points["filter"] = ()  # type: ignore[index]  # that it cannot be written is the point
    with pytest.raises(ValueError, match="frozen"):
        configuration().parallelism = 1
