"""Values that decode and are refused, in kube-scheduler's words."""

import pytest

from tests.config.texts import configuration, faults

KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
TOO_FEW_TRIES = "couldn't create leader elector: renewDeadline must be greater than retryPeriod*JitterFactor"
REMOVED = 'was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("parallelism: 0", ["parallelism: Invalid value: 0: should be an integer value greater than zero"]),
        ("clientConnection: {burst: -1}", ["clientConnection.burst: Invalid value: -1: must be non-negative"]),
        (
            "percentageOfNodesToScore: 101",
            ["percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"],
        ),
        (
            "profiles: [{percentageOfNodesToScore: -1}]",
            ["profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"],
        ),
        (
            "podInitialBackoffSeconds: 0",
            ["podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"],
        ),
        (
            "podInitialBackoffSeconds: 20",
            ["podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds"],
        ),
    ],
)
def test_settings_out_of_bounds_are_refused(body: str, expected: list[str]) -> None:
    assert faults(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "leaseDuration: -5s, renewDeadline: -6s, retryPeriod: -1ms",
            [
                'leaderElection.leaseDuration: Invalid value: "-5s": must be greater than zero',
                'leaderElection.renewDeadline: Invalid value: "-6s": must be greater than zero',
                'leaderElection.retryPeriod: Invalid value: "-1ms": must be greater than zero',
            ],
        ),
        (
            "leaseDuration: 5s",
            ['leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`'],
        ),
        (
            "resourceLock: endpoints",
            ['leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"'],
        ),
        ("leaderElect: false, leaseDuration: -5s, resourceLock: endpoints", []),
        ("renewDeadline: 5s, retryPeriod: 10s", [TOO_FEW_TRIES]),
        ("leaseDuration: 15s, renewDeadline: 12s, retryPeriod: 10s", [TOO_FEW_TRIES]),
        ("leaseDuration: 15s, renewDeadline: 12001ms, retryPeriod: 10s", []),
        ("leaderElect: false, retryPeriod: 10s", []),
        (
            "leaseDuration: 5s, retryPeriod: 10s",
            ['leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`'],
        ),
    ],
)
def test_leader_election_is_checked_when_it_is_on(body: str, expected: list[str]) -> None:
    assert faults(f"leaderElection: {{{body}}}") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("profiles: [{schedulerName: ''}]", ["profiles[0].schedulerName: Required value"]),
        (
            "profiles: [{}, {schedulerName: a}]",
            ["profiles[0].schedulerName: Required value"],
        ),
        (
            "profiles: [{schedulerName: a}, {schedulerName: b}, {schedulerName: a}]",
            ['profiles[2].schedulerName: Duplicate value: "profiles[0].schedulerName"'],
        ),
        (
            "profiles: [{plugins: {filter: {enabled: [{name: NodeName}, {name: EBSLimits}]}}}]",
            [f'profiles[0].plugins.filter.enabled[1]: Invalid value: "EBSLimits": {REMOVED}'],
        ),
        (
            "profiles: [{pluginConfig: [{name: AzureDiskLimits}, {name: CinderLimits}, {name: GCEPDLimits}]}]",
            [
                f'profiles[0].pluginConfig[0]: Invalid value: "AzureDiskLimits": {REMOVED}',
                f'profiles[0].pluginConfig[1]: Invalid value: "CinderLimits": {REMOVED}',
                f'profiles[0].pluginConfig[2]: Invalid value: "GCEPDLimits": {REMOVED}',
            ],
        ),
        (
            "profiles: [{pluginConfig: [{name: Foo}, {name: Bar}, {name: Foo}]}]",
            ['profiles[0].pluginConfig[2]: Duplicate value: "Foo"'],
        ),
    ],
)
def test_profiles_are_checked(body: str, expected: list[str]) -> None:
    assert faults(body) == expected


TWO = "profiles:\n- {schedulerName: a, %s}\n- {schedulerName: b, %s}\n"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (
            "plugins: {queueSort: {enabled: [{name: A}, {name: B}]}}",
            "plugins: {queueSort: {enabled: [{name: A}, {name: B}]}}",
            ["profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled"],
        ),
        (
            "plugins: {queueSort: {enabled: [{name: A}]}}",
            "plugins: {}",
            [
                'profiles[1].plugins.queueSort: Invalid value: {"Enabled":null,"Disabled":null}:'
                " must be the same for all profiles"
            ],
        ),
        (
            "plugins: {queueSort: {enabled: [{name: A}]}}",
            "plugins: {queueSort: {enabled: [{name: A, weight: 3}], disabled: []}}",
            [
                'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"A","Weight":3}],"Disabled":null}:'
                " must be the same for all profiles"
            ],
        ),
        (
            "plugins: {queueSort: {enabled: [{name: A}]}}, pluginConfig: [{name: A, args: {x: 1}}]",
            "plugins: {queueSort: {enabled: [{name: A, weight: 0}]}}, pluginConfig: [{name: A, args: {x: 2}}]",
            ['profiles[1].pluginConfig.args: Invalid value: {"x":2}: queueSort must be the same for all profiles'],
        ),
        (
            "plugins: {queueSort: {enabled: [{name: A}]}}, pluginConfig: [{name: A, args: {x: 1}}]",
            "plugins: {queueSort: {enabled: [{name: A}]}}, pluginConfig: [{name: A, args: {x: 1}}]",
            [],
        ),
    ],
)
def test_all_profiles_must_sort_the_queue_alike(first: str, second: str, expected: list[str]) -> None:
    assert faults(TWO % (first, second)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "{prioritizeVerb: p}",
            ["extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"],
        ),
        (
            "{bindVerb: b}, {bindVerb: b}",
            ['extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind'],
        ),
        (
            "{managedResources: [{name: example.com/a}]}, {managedResources: [{name: example.com/a}]}",
            [
                'extenders[1].managedResources[0].name: Invalid value: "example.com/a":'
                " duplicate extender managed resource name"
            ],
        ),
        (
            "{managedResources: [{name: cpu}, {name: requests.x/a}, {name: x.kubernetes.io/b}]}",
            [
                'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
                'extenders[0].managedResources[1].name: Invalid value: "requests.x/a":'
                " is an invalid extended resource name",
                'extenders[0].managedResources[2].name: Invalid value: "x.kubernetes.io/b":'
                " is an invalid extended resource name",
            ],
        ),
        (
            "{managedResources: [{name: 'a b'}]}",
            [f'extenders[0].managedResources[0].name: Invalid value: "a b": name part {KEY_RULE}'],
        ),
        (
            "{}, {managedResources: [{}]}",
            [
                'extenders[1].managedResources[0].name: Invalid value: "": name part must be non-empty',
                f'extenders[1].managedResources[0].name: Invalid value: "": name part {KEY_RULE}',
            ],
        ),
        ("{filterVerb: f, weight: 0}, {prioritizeVerb: p, weight: 2, bindVerb: b}", []),
    ],
)
def test_extenders_are_checked(body: str, expected: list[str]) -> None:
    assert faults(f"extenders: [{body}]") == expected


def test_an_extender_keeps_every_field() -> None:
    extender = configuration(
        "extenders:\n- {urlPrefix: 'https://x', filterVerb: f, preemptVerb: p, prioritizeVerb: s, weight: 3,"
        " bindVerb: b, enableHTTPS: true, httpTimeout: 1m30s, nodeCacheCapable: true, ignorable: true,"
        " managedResources: [{name: example.com/a, ignoredByScheduler: true}],"
        " tlsConfig: {insecure: true, serverName: sni, certFile: c, keyFile: k, caFile: a, certData: aGVsbG8=}}"
    ).extenders[0]
    assert (extender.url_prefix, extender.filter_verb, extender.preempt_verb) == ("https://x", "f", "p")
    assert (extender.prioritize_verb, extender.weight, extender.bind_verb) == ("s", 3, "b")
    assert (extender.enable_https, extender.http_timeout, extender.node_cache_capable) == (True, 90.0, True)
    assert (extender.ignorable, extender.managed_resources[0].ignored_by_scheduler) == (True, True)
    assert extender.tls_config is not None
    assert (extender.tls_config.ca_file, extender.tls_config.cert_data) == ("a", b"hello")


def test_faults_come_in_the_order_of_kube_scheduler() -> None:
    body = (
        "extenders: [{prioritizeVerb: p}]\npodMaxBackoffSeconds: -1\nparallelism: -1\npercentageOfNodesToScore: 101\n"
        "profiles: [{percentageOfNodesToScore: 102}]\nleaderElection: {resourceLock: x}\n"
        "clientConnection: {burst: -1}\n"
    )
    assert [fault.split(":")[0] for fault in faults(body)] == [
        "clientConnection.burst",
        "leaderElection.resourceLock",
        "parallelism",
        "profiles[0].percentageOfNodesToScore",
        "percentageOfNodesToScore",
        "podMaxBackoffSeconds",
        "extenders[0].weight",
    ]
