"""Both sides get the same gangs, each in the words of its own API, and the longest hold is read off a metric."""

from collections import Counter

import msgspec

from bench.topology import RACK, Gangs, Holds, longest, native_gangs, nodes, own_gangs, share_within


def test_both_sides_get_as_many_pods_of_the_same_shape_in_as_many_groups() -> None:
    gangs = Gangs(3, 4)
    (own_groups, own_pods), (native_groups, native_pods) = own_gangs(gangs), native_gangs(gangs)

    assert len(own_groups) == len(native_groups) == 3
    for (_, own), (_, native) in zip(own_pods, native_pods, strict=True):
        one, other = msgspec.json.decode(own), msgspec.json.decode(native)
        assert one["metadata"]["name"] == other["metadata"]["name"]
        of = other["spec"].pop("schedulingGroup")["podGroupName"]
        assert one["spec"] == other["spec"]
        assert one["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == of
    for _, body in own_groups:
        assert msgspec.json.decode(body)["metadata"]["annotations"] == {"muster-scheduler.io/required-topology": RACK}
    for _, body in native_groups:
        assert msgspec.json.decode(body)["spec"] == {
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "schedulingConstraints": {"topology": [{"key": RACK}]},
        }


def test_nodes_are_spread_evenly_over_the_racks() -> None:
    found = Counter(msgspec.json.decode(body)["metadata"]["labels"][RACK] for _, body in nodes(100, 5))
    assert set(found.values()) == {20}
    assert len(found) == 5


def test_the_longest_hold_is_the_bound_of_the_last_bucket_that_grew() -> None:
    holds = Holds()
    assert longest(holds.held) == longest(holds.worked) == 0
    for what, counts in {
        "blocked": {"0.005": 3, "0.01": 9, "0.025": 10, "0.1": 10, "+Inf": 10},
        "worked": {"0.005": 9, "0.01": 10, "0.025": 10, "0.1": 10, "+Inf": 10},
    }.items():
        line = f"muster_event_loop_{what}_seconds_bucket"
        holds.read("".join(f'{line}{{le="{le}"}} {count}\n' for le, count in counts.items()))
    assert (longest(holds.held), longest(holds.worked)) == (0.025, 0.01)
    assert (share_within(holds.held, 0.01), share_within(holds.held, 0.02), share_within({}, 0.02)) == (0.9, 0.9, 1)
