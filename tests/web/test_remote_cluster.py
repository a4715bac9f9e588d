"""The pages of a cluster of which not everything may be read."""

import time
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from muster.framework.contract import GroupId
from muster.framework.model.times import rfc3339
from muster.operator.kube.auth import StaticAuth
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection, load_connection
from muster.operator.kube.transport import Transport
from muster.operator.process.settings import assemble, muster_configuration
from muster.operator.web.cluster import Unavailable
from muster.operator.web.remote_cluster import ClusterOptions, RemoteCluster
from muster.plugins.coscheduling.definition import definition
from muster.sandbox import Sandbox
from tests.builders import make_pod
from tests.web.served import Shown, member, shown

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_one_namespace_is_shown_and_nothing_is_decided_from_it(tmp_path: Path) -> None:
    async with Sandbox([definition()], stand_ins=False) as sandbox:
        sandbox.nodes(1)
        cluster = Shown(sandbox, "")
        cluster.pod(make_pod("ours", namespace="team"))
        cluster.pod(make_pod("theirs", namespace="other"))
        connection = load_connection(sandbox.kubeconfig(tmp_path / "config"))
        options = ClusterOptions(connection=connection, assembly=assemble(muster_configuration()), namespace="team")
        async with Transport(connection) as transport:
            remote = RemoteCluster(options, ApiClient(transport))
            await remote.start()
            try:
                assert [pod.metadata.name for pod in remote.pods()] == ["ours"]
                assert remote.missing() == ["only pods of team are read: nodes have less capacity free than shown"]
                ours = remote.pod("team/ours")
                assert ours is not None
                answer = await remote.explain(ours)
                assert isinstance(answer, Unavailable)
                assert answer.reason == "Not all of the cluster is readable; give --muster-url to ask the leader."
                assert isinstance(await remote.try_group(GroupId("Coscheduling", "team/any")), Unavailable)
            finally:
                await remote.stop()


async def test_starts_with_capacity_reserved_are_reckoned_from_the_time_of_day(tmp_path: Path) -> None:
    end = (time.time() // 1) + 3600
    running = make_pod("first").requests(cpu="4").node("node-1").priority(100)
    running["spec"]["activeDeadlineSeconds"] = 7200
    running["status"] = {"startTime": rfc3339(end - 7200), "phase": "Running"}
    expected = f"would start by {rfc3339(end)} at the latest, when default/first has ended."
    async with shown(tmp_path, nodes=1) as cluster:
        cluster.sandbox.load([{"apiVersion": "v1", "kind": "Pod", **running}])
        cluster.group("gang", needs=1)
        cluster.pod(member("gang", 0))
        cluster.pod(make_pod("big").requests(cpu="4"))
        await cluster.shows_all()
        assert f"With capacity reserved for it default/big {expected}" in await cluster.page("/pods/default/big")
        gang = f"With capacity reserved for it pod group default/gang {expected}"
        assert gang in await cluster.page("/groups/default/gang")
        assert gang in await cluster.page("/pods/default/gang-0")


async def test_the_page_of_a_member_names_the_pods_that_its_group_would_evict(tmp_path: Path) -> None:
    async with shown(tmp_path, nodes=1) as cluster:
        cluster.pod(make_pod("low").requests(cpu="4").node("node-1"))
        cluster.group("gang", needs=2)
        for number in range(2):
            cluster.pod(member("gang", number).priority(9))
        await cluster.shows_all()
        shown_page = await cluster.page("/pods/default/gang-0")
        assert "default/low" in shown_page


async def test_objects_that_may_not_be_read_are_named_with_the_reason() -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.json_response({"kind": "Status", "code": 403, "message": f"{request.path} is not yours"}, status=403)

    app = web.Application()
    app.router.add_get("/{path:.*}", refuse)
    async with TestServer(app) as server:
        connection = Connection(str(server.make_url("")).rstrip("/"), auth=StaticAuth())
        options = ClusterOptions(connection=connection, assembly=assemble(muster_configuration()))
        async with Transport(connection) as transport:
            remote = RemoteCluster(options, ApiClient(transport))
            await remote.start()
            await remote.stop()
    assert remote.missing() == [
        "nodes cannot be read: /api/v1/nodes is not yours",
        "pods cannot be read: /api/v1/pods is not yours",
    ]
