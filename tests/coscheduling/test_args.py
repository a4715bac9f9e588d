"""CoschedulingArgs: valid values, and invalid ones, which are refused with the path of the field."""

import pytest

from muster.framework.config import ConfigurationError
from muster.framework.embedded.clock import VirtualClock
from muster.framework.scheduler.ports import Ports
from muster.plugins.coscheduling.args import CoschedulingArgs
from muster.testing import engine_of
from tests.coscheduling.world import World, configuration


def faults(args: dict[str, object]) -> list[str]:
    """What is wrong with the arguments, word for word."""
    clock = VirtualClock()
    ports = Ports(clock, lambda: 0.0, lambda work: None, lambda: None, None, None, lambda name: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(ConfigurationError) as caught:
        engine_of(configuration(args), (), ports)
    return [str(problem) for problem in caught.value.errors]


def test_without_arguments_scheduler_plugins_defaults_hold() -> None:
    args = World().groups.args

    assert (args.permit_waiting_time_seconds, args.pod_group_backoff_seconds) == (60, 0)
    assert (args.denied_pg_expiration_time_seconds, args.pod_group_reject_percentage) == (3, 10)
    assert args.placement == "Transaction"


def test_arguments_are_read_by_the_names_that_scheduler_plugins_gives_them() -> None:
    said = {
        "permitWaitingTimeSeconds": 10,
        "deniedPGExpirationTimeSeconds": 5,
        "podGroupBackoffSeconds": 7,
        "podGroupRejectPercentage": 20,
        "placement": "PodByPod",
    }

    assert World(said).groups.args == CoschedulingArgs(
        permit_waiting_time_seconds=10,
        deniedPGExpirationTimeSeconds=5,
        pod_group_backoff_seconds=7,
        pod_group_reject_percentage=20,
        placement="PodByPod",
    )


@pytest.mark.parametrize(
    "field", ["permitWaitingTimeSeconds", "deniedPGExpirationTimeSeconds", "podGroupBackoffSeconds"]
)
def test_a_negative_time_is_refused_with_the_path_of_its_field(field: str) -> None:
    assert faults({field: -1}) == [
        f"profiles[0].pluginConfig[0].args.{field}: Invalid value: -1: must be greater than or equal to 0"
    ]


@pytest.mark.parametrize("percentage", [-1, 101])
def test_a_percentage_outside_of_0_to_100_is_refused(percentage: int) -> None:
    assert faults({"podGroupRejectPercentage": percentage}) == [
        "profiles[0].pluginConfig[0].args.podGroupRejectPercentage: "
        f"Invalid value: {percentage}: not in valid range [0-100]"
    ]


@pytest.mark.parametrize("percentage", [0, 100])
def test_the_ends_of_the_range_of_percentages_are_fine(percentage: int) -> None:
    assert World({"podGroupRejectPercentage": percentage}).groups.args.pod_group_reject_percentage == percentage


def test_an_unknown_placement_is_rejected_with_a_list_of_the_known_ones() -> None:
    assert faults({"placement": "Sometimes"}) == [
        "profiles[0].pluginConfig[0].args.placement: "
        'Unsupported value: "Sometimes": supported values: "Transaction", "PodByPod"'
    ]


def test_all_faults_are_named_at_once() -> None:
    assert len(faults({"permitWaitingTimeSeconds": -1, "podGroupRejectPercentage": 200, "placement": ""})) == 3


def test_a_field_that_does_not_exist_is_refused() -> None:
    [fault] = faults({"permitWaitingSeconds": 10})

    assert "permitWaitingSeconds" in fault
