"""The configuration that the chart writes, read by Muster itself."""

from pathlib import Path
from typing import Any

import pytest

from muster.framework.config import ConfigurationError
from muster.operator.process.settings import Assembly, assemble, read_configuration
from tests.deploy.helm import Helm, pick
from tests.deploy.tables import nested


@pytest.fixture
def assembled(helm: Helm, tmp_path: Path) -> "Assembled":
    """Call it with values, by dotted names, for what Muster makes of the configuration that they give."""
    return Assembled(helm, tmp_path / "config.yaml")


class Assembled:
    """Renders the chart and has Muster read the result."""

    def __init__(self, helm: Helm, path: Path) -> None:
        self._helm = helm
        self._path = path

    def __call__(self, values: dict[str, Any]) -> Assembly:
        config_map = pick(self._helm.template(nested(values)), "ConfigMap/muster")
        self._path.write_text(config_map["data"]["config.yaml"])
        return assemble(read_configuration(self._path))


def test_by_default_gangs_are_scheduled_under_one_name_by_an_elected_leader(assembled: Assembled) -> None:
    assembly = assembled({})
    [profile] = assembly.profiles
    assert profile.scheduler_name == "muster"
    assert [plugin.name for plugin in profile.points["queueSort"]] == ["Coscheduling"]
    assert "NodeResourcesFit" in [plugin.name for plugin in profile.points["filter"]]
    election = assembly.configuration.leader_election
    assert (election.leader_elect, election.resource_name) == (True, "muster")
    assert election.resource_namespace == "muster-system"


def test_writes_are_fast_enough_for_a_large_cluster(assembled: Assembled) -> None:
    connection = assembled({}).configuration.client_connection
    assert (connection.qps, connection.burst) == (2000, 4000)
    slower = assembled({"config.clientConnection.qps": 10}).configuration.client_connection
    assert (slower.qps, slower.burst) == (10, 4000)


def test_each_scheduler_name_has_a_profile_with_the_same_plugins_and_arguments(assembled: Assembled) -> None:
    arguments = [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}]
    names = ["muster", "scheduler-plugins-scheduler"]
    profiles = assembled({"schedulerNames": names, "pluginConfig": arguments}).profiles
    assert [profile.scheduler_name for profile in profiles] == names
    assert profiles[0].points == profiles[1].points
    assert [profile.args["Coscheduling"].permit_waiting_time_seconds for profile in profiles] == [10, 10]  # type: ignore[attr-defined]


def test_the_name_of_the_scheduler_is_the_one_it_answers_to(assembled: Assembled) -> None:
    [profile] = assembled({"scheduler.name": "scheduler-plugins-scheduler"}).profiles
    assert profile.scheduler_name == "scheduler-plugins-scheduler"


def test_plugins_can_be_exchanged_for_kube_schedulers_own(assembled: Assembled) -> None:
    [profile] = assembled({"plugins.enabled": [], "plugins.disabled": ["ImageLocality"]}).profiles
    assert [plugin.name for plugin in profile.points["queueSort"]] == ["PrioritySort"]
    assert "ImageLocality" not in [plugin.name for plugin in profile.points["score"]]


def test_profiles_of_the_configuration_go_before_the_other_values(assembled: Assembled) -> None:
    own = [{"schedulerName": "packing"}, {"schedulerName": "spreading"}]
    profiles = assembled({"config.profiles": own, "schedulerNames": ["ignored"]}).profiles
    assert [profile.scheduler_name for profile in profiles] == ["packing", "spreading"]
    assert [plugin.name for plugin in profiles[0].points["queueSort"]] == ["PrioritySort"]


def test_every_other_field_goes_through_as_it_is(assembled: Assembled) -> None:
    configuration = assembled(
        {
            "config.percentageOfNodesToScore": 40,
            "config.podMaxBackoffSeconds": 20,
            "config.delayCacheUntilActive": True,
            "config.leaderElection": {"leaseDuration": "30s", "renewDeadline": "20s"},
        }
    ).configuration
    assert configuration.percentage_of_nodes_to_score == 40
    assert configuration.pod_max_backoff_seconds == 20
    assert configuration.delay_cache_until_active
    assert configuration.leader_election.lease_duration == 30
    assert configuration.leader_election.resource_name == "muster"


@pytest.mark.parametrize("empty", [None, {}])
def test_an_empty_configuration_leaves_everything_to_the_other_values(assembled: Assembled, empty: object) -> None:
    assembly = assembled({"config": empty, "scheduler.name": "ours"})
    assert [profile.scheduler_name for profile in assembly.profiles] == ["ours"]
    assert assembly.configuration.leader_election.resource_name == "muster"


def test_switching_the_election_off_in_the_configuration_counts(assembled: Assembled) -> None:
    values = {"scheduler.replicaCount": 1, "config.leaderElection.leaderElect": False}
    assert not assembled(values).configuration.leader_election.leader_elect


def test_muster_refuses_a_configuration_that_only_muster_can_judge(assembled: Assembled) -> None:
    with pytest.raises(ConfigurationError, match="NoSuchPlugin"):
        assembled({"plugins.enabled": ["NoSuchPlugin"]})


def test_pods_may_be_read_where_extenders_receive_them(assembled: Assembled, helm: Helm) -> None:
    values = {"config.extenders": [{"urlPrefix": "http://10.0.0.1/scheduler", "filterVerb": "filter"}]}
    [extender] = assembled(values).configuration.extenders
    assert extender.filter_verb == "filter"
    reading = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    assert reading in pick(helm.template(nested(values)), "ClusterRole/muster")["rules"]
    assert reading not in pick(helm.template(), "ClusterRole/muster")["rules"]
