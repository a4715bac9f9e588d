"""PerSignature: what plugins work out once a signature."""

from muster.framework.authoring import PerSignature
from muster.framework.model.pod_info import PodInfo
from tests.builders import make_pod
from tests.plugins.cluster import info


class Deriving:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, pod: PodInfo) -> str:
        self.asked.append(pod.name)
        return f"worked out for {pod.name}"


def test_pods_of_one_shape_share_a_value() -> None:
    derive = Deriving()
    values = PerSignature(derive)
    first, second = info(make_pod("a").requests(cpu="1")), info(make_pod("b").requests(cpu="1"))
    assert values.of(first) == values.of(second) == values.of(first) == "worked out for a"
    assert derive.asked == ["a"]


def test_pods_of_other_shapes_have_values_of_their_own() -> None:
    values = PerSignature(Deriving())
    assert values.of(info(make_pod("a").requests(cpu="1"))) == "worked out for a"
    assert values.of(info(make_pod("b").requests(cpu="2"))) == "worked out for b"


def test_a_value_is_forgotten_with_the_last_pod_of_its_shape() -> None:
    values = PerSignature(Deriving())
    only_here = {"cpu": "4711m"}  # all pods of one shape share a signature, those that other tests left behind included
    values.of(info(make_pod("a").requests(**only_here)))
    assert values.of(info(make_pod("b").requests(**only_here))) == "worked out for b"
