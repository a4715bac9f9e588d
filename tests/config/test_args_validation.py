"""Arguments of kube-scheduler's own plugins that it refuses, in its words."""

import pytest

from tests.config.texts import ARGS_PATH, configuration, faults, with_args

KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
STRATEGIES = '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
OPERATORS = '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'


def args_faults(plugin: str, args: str) -> list[str]:
    """What is wrong with arguments, without the path that all faults share."""
    found = faults(with_args(plugin, args))
    assert all(fault.startswith(f"{ARGS_PATH}.") for fault in found)
    return [fault.removeprefix(f"{ARGS_PATH}.") for fault in found]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (
            "{minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1}",
            [
                "minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
                "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
            ],
        ),
        (
            "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            [
                "minCandidateNodesPercentage: Invalid value: 0:"
                " cannot be zero at the same time as minCandidateNodesAbsolute",
                "minCandidateNodesAbsolute: Invalid value: 0:"
                " cannot be zero at the same time as minCandidateNodesPercentage",
            ],
        ),
        ("{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 1}", []),
    ],
)
def test_default_preemption(args: str, expected: list[str]) -> None:
    assert args_faults("DefaultPreemption", args) == expected


@pytest.mark.parametrize("weight", [-1, 101])
def test_inter_pod_affinity(weight: int) -> None:
    fault = f"hardPodAffinityWeight: Invalid value: {weight}: not in valid range [0, 100]"
    assert args_faults("InterPodAffinity", f"{{hardPodAffinityWeight: {weight}}}") == [fault]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("{type: Foo}", [f'type: Unsupported value: "Foo": supported values: {STRATEGIES}']),
        ("{resources: [{name: cpu}]}", [f'type: Unsupported value: "": supported values: {STRATEGIES}']),
        (
            "{type: MostAllocated, resources: [{name: cpu, weight: 101}, {name: memory, weight: -1}]}",
            [
                "resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]",
                "resources[1].weight: Invalid value: -1: resource weight of memory not in valid range (0, 100]",
            ],
        ),
        (
            "{type: RequestedToCapacityRatio}",
            [
                "requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio",
            ],
        ),
        (
            "{type: LeastAllocated, requestedToCapacityRatio: {}}",
            ["requestedToCapacityRatio: Forbidden: must be nil when type is not RequestedToCapacityRatio"],
        ),
        (
            "{type: RequestedToCapacityRatio, requestedToCapacityRatio: {}}",
            ["requestedToCapacityRatio.shape: Required value: at least one point must be specified"],
        ),
        (
            "{type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 101}]}}",
            ["requestedToCapacityRatio.shape[0].utilization: Invalid value: 101: not in valid range [0, 100]"],
        ),
        ("{type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 5, score: 5}]}}", []),
    ],
)
def test_the_strategy_of_node_resources_fit(args: str, expected: list[str]) -> None:
    found = args_faults("NodeResourcesFit", f"{{scoringStrategy: {args}}}")
    assert found == [f"scoringStrategy.{fault}" for fault in expected]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (
            "{ignoredResources: [cpu, 'a b', example.com/x]}",
            [f'ignoredResources[1]: Invalid value: "a b": name part {KEY_RULE}'],
        ),
        (
            "{ignoredResources: [a/b/c]}",
            [
                f'ignoredResources[0]: Invalid value: "a/b/c": a valid label key {KEY_RULE}'
                " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ],
        ),
        (
            "{ignoredResourceGroups: [example.com, a/b]}",
            ["ignoredResourceGroups[1]: Invalid value: \"a/b\": resource group name can't contain '/'"],
        ),
    ],
)
def test_faults_of_the_resources_that_node_resources_fit_ignores_are_named(args: str, expected: list[str]) -> None:
    assert args_faults("NodeResourcesFit", args) == expected


def test_node_resources_balanced_allocation() -> None:
    assert args_faults("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}, {name: cpu}]}") == [
        "resources[0].weight: Invalid value: 2: must be 1",
        'resources[1].name: Duplicate value: "cpu"',
    ]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (
            "{bindTimeoutSeconds: -1}",
            ["bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value"],
        ),
        (
            "{shape: [{utilization: 50, score: 11}, {utilization: 50}, {utilization: 500}, {score: -1}]}",
            [
                "shape[1].utilization: Invalid value: 50: values must be sorted in increasing order",
                "shape[0].score: Invalid value: 11: not in valid range [0, 10]",
                "shape[2].utilization: Invalid value: 500: not in valid range [0, 100]",
                "shape[3].score: Invalid value: -1: not in valid range [0, 10]",
            ],
        ),
        ("{bindTimeoutSeconds: 0, shape: []}", []),
    ],
)
def test_volume_binding(args: str, expected: list[str]) -> None:
    assert args_faults("VolumeBinding", args) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("{filterTimeout: -1s}", ['filterTimeout: Invalid value: "-1s": must be zero or positive']),
        ("{bindingTimeout: 999ms}", ['bindingTimeout: Invalid value: "999ms": must be at least 1 second']),
        ("{filterTimeout: 0s, bindingTimeout: 1s}", []),
    ],
)
def test_dynamic_resources(args: str, expected: list[str]) -> None:
    assert args_faults("DynamicResources", args) == expected


def test_a_filter_timeout_of_zero_is_kept() -> None:
    args = configuration(with_args("DynamicResources", "{filterTimeout: 0s}")).profiles[0].plugin_config[0].args
    assert args.filter_timeout == 0.0


GOOD = "maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("defaultingType: Foo", ['defaultingType: Unsupported value: "Foo": supported values: "System", "List"']),
        (
            f"defaultConstraints: [{{{GOOD}}}]",
            ['defaultingType: Invalid value: "System": when .defaultConstraints are not empty'],
        ),
        (
            "defaultingType: List, defaultConstraints: [{}]",
            [
                "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
                "defaultConstraints[0].topologyKey: Required value: can not be empty",
                "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
            ],
        ),
        (
            "defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: 'a b', whenUnsatisfiable: Foo}]",
            [
                f'defaultConstraints[0].topologyKey: Invalid value: "a b": name part {KEY_RULE}',
                'defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Foo":'
                ' supported values: "DoNotSchedule", "ScheduleAnyway"',
            ],
        ),
        (
            f"defaultingType: List, defaultConstraints: [{{{GOOD}, labelSelector: {{}}}}]",
            [
                "defaultConstraints[0].labelSelector: Forbidden:"
                " constraint must not define a selector, as they deduced for each pod"
            ],
        ),
        (
            f"defaultingType: List, defaultConstraints: [{{{GOOD}}}, {{{GOOD}}}]",
            ['defaultConstraints[1]: Duplicate value: "{zone, ScheduleAnyway}"'],
        ),
        (f"defaultingType: List, defaultConstraints: [{{{GOOD}, labelSelector: null, minDomains: 2}}]", []),
        ("defaultingType: List", []),
    ],
)
def test_pod_topology_spread(args: str, expected: list[str]) -> None:
    assert args_faults("PodTopologySpread", f"{{{args}}}") == expected


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("key: a, operator: Foo", [f'operator: Unsupported value: "Foo": supported values: {OPERATORS}']),
        (
            "key: a, operator: In",
            ["values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"],
        ),
        (
            "key: a, operator: NotIn, values: []",
            ["values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"],
        ),
        (
            "key: a, operator: Exists, values: [b]",
            ['values: Invalid value: ["b"]: values set must be empty for exists and does not exist'],
        ),
        (
            "key: a, operator: Gt, values: ['1', '2']",
            ["values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, exactly one value is required"],
        ),
        (
            "key: a, operator: Lt, values: [b]",
            ["values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer"],
        ),
        ("key: a, operator: In, values: ['b c']", [f'values[0][a]: Invalid value: "b c": {VALUE_RULE}']),
        ("key: '', operator: Exists", [f'key: Invalid value: "": name part must be non-empty; name part {KEY_RULE}']),
        ("key: a, operator: Gt, values: ['5']", []),
        ("key: a, operator: DoesNotExist", []),
    ],
)
def test_the_labels_of_added_affinity(requirement: str, expected: list[str]) -> None:
    term = f"{{matchExpressions: [{{{requirement}}}]}}"
    added = f"{{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{}}, {term}]}}}}"
    place = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].matchExpressions[0]."
    assert args_faults("NodeAffinity", f"{{addedAffinity: {added}}}") == [place + fault for fault in expected]


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("operator: Exists", ['operator: Unsupported value: "Exists": supported values: "In", "NotIn"']),
        ("operator: In, values: [a, b]", ['values: Invalid value: ["a","b"]: must have one element']),
        ("operator: In, values: [a]", []),
    ],
)
@pytest.mark.parametrize("weight", [0, 5])
def test_the_fields_of_preferred_added_affinity_unless_it_weighs_nothing(
    weight: int, requirement: str, expected: list[str]
) -> None:
    preference = f"{{matchFields: [{{key: metadata.name, {requirement}}}]}}"
    term = f"{{weight: {weight}, preference: {preference}}}"
    found = args_faults(
        "NodeAffinity", f"{{addedAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
    )
    place = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].matchFields[0]."
    assert found == ([place + fault for fault in expected] if weight else [])


def test_added_affinity_stays_in_the_shape_of_the_api() -> None:
    added = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]
        }
    }
    body = with_args("NodeAffinity", f"{{addedAffinity: {added}}}")
    assert configuration(body).profiles[0].plugin_config[0].args.added_affinity == added
