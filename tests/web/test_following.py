"""What is shown of a cluster of which not everything may be read."""

from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from muster.framework.contract import GroupId
from muster.operator.kube.auth import StaticAuth
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection, load_connection
from muster.operator.kube.transport import Transport
from muster.operator.process.settings import assemble, muster_configuration
from muster.operator.web.cluster import Unanswered
from muster.operator.web.following import Asked, Following
from muster.plugins.coscheduling.definition import definition
from muster.sandbox import Sandbox
from tests.builders import make_pod
from tests.web.served import Shown

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_one_namespace_is_shown_and_nothing_is_decided_from_it(tmp_path: Path) -> None:
    async with Sandbox([definition()], stand_ins=False) as sandbox:
        sandbox.nodes(1)
        cluster = Shown(sandbox, "")
        cluster.pod(make_pod("ours", namespace="team"))
        cluster.pod(make_pod("theirs", namespace="other"))
        connection = load_connection(sandbox.kubeconfig(tmp_path / "config"))
        asked = Asked(connection=connection, assembly=assemble(muster_configuration()), namespace="team")
        async with Transport(connection) as transport:
            following = Following(asked, ApiClient(transport))
            await following.start()
            try:
                assert [pod.metadata.name for pod in following.pods()] == ["ours"]
                assert following.missing() == ["only pods of team are read: nodes have less capacity free than shown"]
                ours = following.pod("team/ours")
                assert ours is not None
                answer = await following.explain(ours)
                assert isinstance(answer, Unanswered)
                assert answer.reason == "Not all of the cluster is read; with --muster-url the leader is asked."
                assert isinstance(await following.try_group(GroupId("Coscheduling", "team/any")), Unanswered)
            finally:
                await following.stop()


async def test_what_may_not_be_read_is_named_with_the_reason() -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.json_response({"kind": "Status", "code": 403, "message": f"{request.path} is not yours"}, status=403)

    app = web.Application()
    app.router.add_get("/{path:.*}", refuse)
    async with TestServer(app) as server:
        connection = Connection(str(server.make_url("")).rstrip("/"), auth=StaticAuth())
        asked = Asked(connection=connection, assembly=assemble(muster_configuration()))
        async with Transport(connection) as transport:
            following = Following(asked, ApiClient(transport))
            await following.start()
            await following.stop()
    assert following.missing() == [
        "nodes cannot be read: /api/v1/nodes is not yours",
        "pods cannot be read: /api/v1/pods is not yours",
    ]
