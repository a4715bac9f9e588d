"""The situations of CapacityScheduling: who may evict whom between two or three namespaces with ElasticQuotas."""

from collections.abc import Mapping, Sequence

from tests.peers.situations import HIGH, LOW, MIDDLE, PlacingSituation, PlayedPod, PlayedQuota

_NODES = {name: {"cpu": "100", "memory": "100", "pods": "32"} for name in ("one", "two")}
_HALF = PlayedQuota(min={"cpu": "100m", "memory": "100"}, max={"cpu": "200m", "memory": "200"})
_BOTH = {"one": _HALF, "two": _HALF}


def _pod(name: str, team: str, priority: str, *, memory: int = 50, cpu: str = "10m", node: str = "") -> PlayedPod:
    requests = {"cpu": cpu, "memory": str(memory)}
    return PlayedPod(name=name, requests=requests, priority=priority, team=team, node=node)


def _quotas(
    shows: str,
    *,
    before: Sequence[PlayedPod],
    come: Sequence[PlayedPod],
    scheduled: str,
    besides: str = "",
    quotas: Mapping[str, PlayedQuota] = _BOTH,
) -> PlacingSituation:
    return PlacingSituation(
        shows=shows,
        nodes=_NODES,
        quotas=quotas,
        before=before,
        come=come,
        scheduled=frozenset(scheduled.split()),
        besides=frozenset(besides.split()),
        within=10.0,
    )


def _one_milli(name: str, team: str, priority: str, node: str = "") -> PlayedPod:
    return _pod(name, team, priority, memory=0, cpu="1m", node=node)


def _min_max(least: str, most: str) -> PlayedQuota:
    return PlayedQuota(min={"cpu": least, "memory": "100"}, max={"cpu": most, "memory": "200"})


SITUATIONS = [
    _quotas(
        "a namespace below its min gets back what another has borrowed",
        before=[
            _pod("a", "one", MIDDLE, node="one"),
            _pod("b", "one", MIDDLE, node="one"),
            _pod("borrowed", "one", LOW, node="two"),
        ],
        come=[_pod("c", "two", MIDDLE), _pod("d", "two", MIDDLE), _pod("over", "two", LOW)],
        scheduled="a b c d",
    ),
    _quotas(
        "two namespaces at their min evict pods of lower priority of their own",
        before=[
            _pod("a", "one", MIDDLE, node="one"),
            _pod("low-a", "one", LOW, node="one"),
            _pod("b", "two", MIDDLE, node="two"),
            _pod("low-b", "two", LOW, node="two"),
        ],
        come=[_pod("c", "one", MIDDLE), _pod("d", "two", MIDDLE)],
        scheduled="a b c d",
    ),
    _quotas(
        "priority decides where there are no quotas",
        before=[
            _pod("a", "one", HIGH, node="one"),
            _pod("low-a", "one", LOW, node="one"),
            _pod("b", "two", HIGH, node="two"),
            _pod("low-b", "two", LOW, node="two"),
        ],
        come=[_pod("c", "one", MIDDLE), _pod("d", "two", MIDDLE)],
        scheduled="a b c d",
        quotas={},
    ),
    _quotas(
        "a pod that no node could hold evicts no pod of its namespace",
        before=[
            _pod("a", "one", MIDDLE, node="one"),
            _pod("b", "one", MIDDLE, node="one"),
            _pod("c", "one", LOW, node="two"),
            _pod("d", "two", MIDDLE, node="two"),
        ],
        come=[_pod("large-a", "one", HIGH, memory=150), _pod("large-b", "two", HIGH, memory=150)],
        scheduled="a b c d",
    ),
    _quotas(
        "a namespace over its min evicts no pod of another",
        before=[
            _pod("a", "one", MIDDLE, node="one"),
            _pod("b", "two", HIGH, node="one"),
            _pod("c", "two", HIGH, node="two"),
            _pod("d", "two", HIGH, node="two"),
        ],
        come=[_pod("over", "two", HIGH)],
        scheduled="a b c d",
    ),
    _quotas(
        "a pod evicts none whose places on two nodes would not help it",
        before=[
            _pod("a", "one", LOW, node="one"),
            _pod("b", "one", LOW, node="two"),
            _pod("c", "two", MIDDLE, node="one"),
            _pod("d", "two", MIDDLE, node="two"),
        ],
        come=[
            _pod("whole-a", "one", HIGH, memory=100, cpu="20m"),
            _pod("whole-b", "two", HIGH, memory=100, cpu="20m"),
        ],
        scheduled="a b c d",
    ),
    _quotas(
        "the third of three namespaces gets its min and no more",
        before=[
            _one_milli("kept", "one", HIGH, "one"),
            _one_milli("lent-a", "one", MIDDLE, "two"),
            _one_milli("lent-b", "one", MIDDLE, "two"),
            _one_milli("a", "two", MIDDLE, "two"),
            _one_milli("b", "two", MIDDLE, "one"),
            _one_milli("c", "two", MIDDLE, "two"),
        ],
        come=[_one_milli(name, "three", MIDDLE) for name in ("d", "e", "f", "over")],
        scheduled="kept a b c d e f",
        # There both are evicted, as quotas must not use more together than is guaranteed. The nodes have room for all,
        # so an eviction would help nobody: Muster lets them run until the room is needed.
        besides="lent-a lent-b",
        quotas={"one": _min_max("1m", "3m"), "two": _min_max("3m", "3m"), "three": _min_max("3m", "4m")},
    ),
]
