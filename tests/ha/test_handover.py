"""A standby is ready and silent, and leads as soon as the leader ends in good order."""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.builders import make_pod
from tests.e2e.cluster import Cluster
from tests.e2e.eventually import eventually
from tests.ha.audit import besides_leases, bindings, writes
from tests.ha.conftest import StartReplica, start_pair
from tests.ha.pods import PodWatch
from tests.ha.replica import Terms
from tests.ha.work import DONE_WITHIN, create_gang, create_work

# Much less than it takes a lease to run out that nobody gave up.
AT_ONCE = 5.0

pytestmark = pytest.mark.usefixtures("nodes")


def test_a_standby_knows_all_and_does_nothing(start_replica: StartReplica, cluster: Cluster, audit_log: Path) -> None:
    terms = Terms(cluster.namespace)
    leader, standby = start_pair(start_replica, terms)

    create_gang(cluster, "lonely")
    cluster.create(make_pod("fits").requests(cpu="1"), make_pod("too-large").requests(cpu="5"), scheduler=terms.name)
    cluster.wait_until_bound("fits")
    cluster.wait_until_unschedulable("too-large")
    eventually(lambda: cluster.events("too-large", "FailedScheduling"))
    written = {write.what for write in writes(audit_log, leader.user)}
    assert written == {"leases", "pods/binding", "pods/status", "events", "podgroups/status"}

    assert f'leader_election_master_status{{name="{terms.name}"}} 0' in standby.page("/metrics")[1]
    eventually(lambda: standby.metric('scheduler_cache_size{type="nodes"}') == 25)
    eventually(lambda: standby.metric('scheduler_cache_size{type="pods"}') == 1)
    eventually(lambda: standby.metric('scheduler_pending_pods{queue="active"}') == 1)
    assert standby.page("/metrics/resources") == (200, "")
    assert "kube_pod_resource_request" in leader.page("/metrics/resources")[1]
    standby.stop()
    assert writes(audit_log, standby.user) == []
    assert leader.leads


def test_a_leader_that_gets_sigterm_hands_its_work_over(
    start_replica: StartReplica, cluster: Cluster, watch: PodWatch, audit_log: Path
) -> None:
    terms = Terms(cluster.namespace, qps=60)
    leader, standby = start_pair(start_replica, terms)

    with ThreadPoolExecutor(1) as creating:
        created = creating.submit(create_work, cluster, pods=400, scheduler=terms.name)
        eventually(lambda: watch.bound >= 100)
        leader.signal(signal.SIGTERM)

        assert leader.wait() == 0
        standby.wait_until_leading(within=AT_ONCE)
        created.result()
    eventually(lambda: watch.bound == 400, within=DONE_WITHIN)
    of_leader, of_standby = (besides_leases(writes(audit_log, replica.user)) for replica in (leader, standby))
    assert bindings([*of_leader, *of_standby]) == dict.fromkeys(watch.nodes, 1)
    assert bindings(of_leader).total() >= 100
    assert bindings(of_standby).total() > 0
    assert [write for write in of_leader if not write.done] == []
    assert leader.errors == []
