"""The engine with gangs in its cluster: what a test does to PodGroups, and what the plugin knows of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from muster.framework.contract import Plugin
from muster.plugins.coscheduling.book import PodGroups
from muster.plugins.coscheduling.plugin import Coscheduling
from muster.testing import VirtualScheduler, configuration_of
from tests.coscheduling.objects import GROUP_LABEL, make_group


def configuration(
    args: Mapping[str, object] = {},
    names: Sequence[str] = ("muster",),
    more: Sequence[str] = (),
    without: Mapping[str, Sequence[str]] = {},
) -> bytes:
    """A KubeSchedulerConfiguration with Coscheduling in every profile, and the plugins `more` after it.

    `without` names Filter plugins that a profile does without, by the profile's name.
    """
    return configuration_of(["Coscheduling", *more], names=names, args={"Coscheduling": args}, without=without)


class World(VirtualScheduler):
    """A cluster with Muster on it, and gangs."""

    def __init__(
        self,
        args: Mapping[str, object] = {},
        *,
        names: Sequence[str] = ("muster",),
        plugins: Mapping[str, type[Plugin]] = {},
        without: Mapping[str, Sequence[str]] = {},
        seed: int = 0,
        stopwatch: Callable[[], float] = lambda: 0.0,
    ) -> None:
        document = configuration(args, names, tuple(plugins), without)
        super().__init__(*plugins.values(), configuration=document, seed=seed, stopwatch=stopwatch)

    @property
    def groups(self) -> PodGroups:
        """What the plugin knows."""
        found = self.engine.shared[Coscheduling.name]
        assert isinstance(found, PodGroups)
        return found

    def plugin(self, name: str = "muster") -> Coscheduling:
        """The plugin of a profile."""
        found = self.engine.algorithms[name].framework.plugins.plugins["Coscheduling"]
        assert isinstance(found, Coscheduling)
        return found

    def add_group(self, name: str, min_member: int | None = None, **more: Any) -> str:
        """A PodGroup comes; see `make_group`."""
        return self.api.put("podgroups", make_group(name, min_member, **more))

    def change_group(self, key: str, **spec: object) -> None:
        """Fields of a PodGroup's spec change."""
        self.api.change("podgroups", key, lambda group: group["spec"].update(spec))

    def relabel(self, key: str, group: str) -> None:
        """A pod's label names another group."""
        self.api.change("pods", key, lambda pod: pod["metadata"].setdefault("labels", {}).update({GROUP_LABEL: group}))

    def bound(self, group: str | None = None, namespace: str = "default") -> list[str]:
        """Keys of the bound pods, of one group or of all."""
        return [
            key
            for key, pod in self.api.pods.items()
            if pod["spec"].get("nodeName")
            and (group is None or (_group(pod) == group and pod["metadata"]["namespace"] == namespace))
        ]

    def check(self) -> None:
        """What the scheduler and its plugin believe is what the API has; to be asked when all is settled."""
        super().check()
        for group in {*self.api.objects["podgroups"]}:
            namespace, _, name = group.partition("/")
            alive = [
                pod
                for pod in self.api.pods.values()
                if _group(pod) == name
                and pod["metadata"]["namespace"] == namespace
                and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
                and "deletionTimestamp" not in pod["metadata"]
            ]
            record = self.groups.record(group)
            placed = sum(1 for pod in alive if pod["spec"].get("nodeName"))
            assert (len(record.pods), len(record.placed), len(record.bound)) == (len(alive), placed, placed)
            assert not self.groups.at_permit.of(group)


def _group(pod: Mapping[str, Any]) -> str | None:
    found: str | None = pod["metadata"].get("labels", {}).get(GROUP_LABEL)
    return found
