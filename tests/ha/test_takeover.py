"""A leader that dies, freezes or hears nothing more in the middle of its work: another finishes it, once."""

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.eventually import eventually
from tests.ha.audit import besides_leases, bindings, writes
from tests.ha.conftest import StartReplica, start_pair
from tests.ha.pods import PodWatch
from tests.ha.replica import Replica, Terms
from tests.ha.wall import Wall
from tests.ha.work import DONE_WITHIN, GANG, create_work

PODS = 400
SHORT = (6, 4, 1)
TAKEN_OVER_WITHIN = 20.0

pytestmark = pytest.mark.usefixtures("nodes")


@contextmanager
def work_arriving(cluster: Cluster, *, pods: int, scheduler: str) -> Iterator[None]:
    """Pods are created meanwhile, faster than the replicas may bind them; in the end all are there."""
    with ThreadPoolExecutor(1) as creating, cluster.from_another_thread() as same:
        created = creating.submit(create_work, same, pods=pods, scheduler=scheduler)
        yield
        created.result()


def half_bound(watch: PodWatch) -> list[str]:
    """Gangs of which some pods have a node and others have not."""
    return [gang for gang, bound in watch.bound_members().items() if 0 < bound < GANG]


def much_to_do_and_done(watch: PodWatch) -> bool:
    """Whether the work is in full swing."""
    return watch.bound >= 100


def freeze_within_a_gang(leader: Replica, watch: PodWatch, cluster: Cluster) -> None:
    """Stop the leader in full swing, at a moment when a gang is half bound."""

    def bound() -> int:
        pods = cluster.api.get(f"/api/v1/namespaces/{cluster.namespace}/pods")["items"]
        return sum("nodeName" in pod["spec"] for pod in pods)

    def frozen() -> bool:
        if not (much_to_do_and_done(watch) and half_bound(watch)):
            return False
        leader.signal(signal.SIGSTOP)
        eventually(lambda: bound() == watch.bound)
        if half_bound(watch):
            return True
        leader.signal(signal.SIGCONT)
        return False

    eventually(frozen)


def assert_all_bound_once(watch: PodWatch, log: Path, first: Replica, second: Replica, *, pods: int) -> None:
    """Every pod was bound by one of the two, the second began after the first had ended, and no gang is half bound."""
    eventually(lambda: watch.bound == pods, within=DONE_WITHIN)
    assert watch.moved() == {}
    assert half_bound(watch) == []
    of_first, of_second = (besides_leases(writes(log, replica.user)) for replica in (first, second))
    bound = bindings([*of_first, *of_second])
    assert bound == dict.fromkeys(watch.nodes, 1)
    assert max(write.received for write in of_first) < min(write.received for write in of_second)
    assert bindings(of_second).total() >= pods // 10


def test_a_standby_finishes_what_a_killed_leader_began(
    start_replica: StartReplica, cluster: Cluster, watch: PodWatch, audit_log: Path
) -> None:
    terms = Terms(cluster.namespace, qps=30)
    leader, standby = start_pair(start_replica, terms)

    with work_arriving(cluster, pods=PODS, scheduler=terms.name):
        freeze_within_a_gang(leader, watch, cluster)
        leader.kill()

    standby.wait_until_leading(within=TAKEN_OVER_WITHIN)
    lease = cluster.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{terms.name}/leases/{terms.name}")["spec"]
    assert (lease["leaseDurationSeconds"], lease["leaseTransitions"]) == (15, 1)
    assert_all_bound_once(watch, audit_log, leader, standby, pods=PODS)


def test_a_leader_that_was_frozen_past_its_lease_writes_nothing_when_it_thaws(
    start_replica: StartReplica, cluster: Cluster, watch: PodWatch, audit_log: Path
) -> None:
    terms = Terms(cluster.namespace, seconds=SHORT, qps=30)
    leader, standby = start_pair(start_replica, terms)

    with work_arriving(cluster, pods=PODS, scheduler=terms.name):
        freeze_within_a_gang(leader, watch, cluster)
    eventually(lambda: besides_leases(writes(audit_log, standby.user)))
    thawed = time.time()
    leader.signal(signal.SIGCONT)

    assert leader.wait() == 1
    assert watch.bound < PODS, "there was nothing left that it could have written"
    assert [write for write in writes(audit_log, leader.user) if write.received >= thawed] == []
    assert_all_bound_once(watch, audit_log, leader, standby, pods=PODS)


def test_a_leader_that_hears_nothing_from_the_api_server_gives_up_before_another_begins(
    start_replica: StartReplica, cluster: Cluster, watch: PodWatch, audit_log: Path, wall: Wall
) -> None:
    terms = Terms(cluster.namespace, seconds=SHORT, qps=30)
    leader, standby = start_pair(start_replica, terms, server=wall.url)

    with work_arriving(cluster, pods=PODS, scheduler=terms.name):
        eventually(lambda: much_to_do_and_done(watch))
        wall.silence()

    assert leader.wait() == 1
    assert not standby.leads
    assert_all_bound_once(watch, audit_log, leader, standby, pods=PODS)
