"""How many equal pods a node can take, as NodeResourcesFit counts and as it filters, one pod after another."""

from hypothesis import given
from hypothesis import strategies as st

from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import make_node, make_pod
from tests.plugins.cluster import Cluster, info

GPU = "example.com/gpu"

requests = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(["0", "300m", "1", "2"]),
        "memory": st.sampled_from(["100Mi", "1Gi"]),
        GPU: st.sampled_from(["0", "1", "2"]),
        "example.com/none": st.just("1"),
    },
)


@given(running=st.lists(requests, max_size=3), asked=requests, pods=st.integers(0, 6))
def test_a_node_takes_as_many_pods_as_were_counted_and_not_one_more(
    running: list[dict[str, str]], asked: dict[str, str], pods: int
) -> None:
    cluster = Cluster(make_node("n", cpu="4", memory="4Gi", pods=str(pods)).resources({GPU: "3"}))
    plugin = cluster.plugin(NodeResourcesFit)
    for number, each in enumerate(running):
        cluster.place("n", make_pod(f"running-{number}").requests(each))
    [counted] = plugin.capacity(info(make_pod("web").requests(asked)), cluster.view())

    taken = 0
    while not cluster.rejected(plugin, make_pod("web").requests(asked)):
        cluster.place("n", make_pod(f"web-{taken}").requests(asked))
        taken += 1

    assert taken == counted
