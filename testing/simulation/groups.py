"""Groups, trees of groups and PodDisruptionBudgets as users create them: the acts of a history that concern them."""

from __future__ import annotations

from muster.sandbox.kinds import COMPOSITE_POD_GROUPS, NATIVE_POD_GROUPS, POD_DISRUPTION_BUDGETS

from .acts import one_among
from .meddling import Meddling
from .members import APP
from .passing import NAMESPACE
from .server import SimulatedServer
from .traits import REQUIRED, Traits, annotations_of, labelled_spec, native_spec


class GroupActs:
    """Carries out acts on groups. Changes of a group are recorded in `meddling`."""

    def __init__(self, server: SimulatedServer, meddling: Meddling) -> None:
        self._server = server
        self._store = server.store
        self._meddling = meddling

    def group_comes(
        self, name: str, minimum: int, native: bool, traits: Traits = (), *, urgent: bool = False, parent: str = ""
    ) -> None:
        kind = NATIVE_POD_GROUPS if native else self._server.pod_groups
        spec = labelled_spec(minimum, traits)
        if native:
            level = dict(traits).get(REQUIRED, "")
            spec = native_spec({"gang": {"minCount": minimum}}, level, parent, urgent)
        metadata = {"name": name, "annotations": annotations_of(traits, native)}
        group = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
        self._store.create(kind, group, namespace=NAMESPACE)

    def group_changes(self, pick: float, by: int) -> None:
        """Change the number of members that a group needs."""
        group = one_among(self._server.objects(self._server.pod_groups), pick)
        if group is not None:
            name, minimum = group["metadata"]["name"], max(1, group["spec"]["minMember"] + by)
            self._meddling.touch(name)
            changed = group | {"spec": group["spec"] | {"minMember": minimum}}
            self._store.update(self._server.pod_groups, name, changed, namespace=NAMESPACE)

    def group_goes(self, pick: float) -> None:
        group = one_among(self._server.objects(self._server.pod_groups), pick)
        if group is not None:
            name = group["metadata"]["name"]
            self._meddling.touch(name)
            self._store.delete(self._server.pod_groups, name, namespace=NAMESPACE)

    def tree_comes(self, name: str, least: int, level: str, parent: str, *, urgent: bool) -> None:
        """Create a group of groups, a minimum of which start at once, within one value of a label if it names one."""
        spec = native_spec({"gang": {"minGroupCount": least}}, level, parent, urgent)
        spec["workloadRef"] = {"workloadName": name, "templateName": "tree"}
        self._store.create(COMPOSITE_POD_GROUPS, {"metadata": {"name": name}, "spec": spec}, namespace=NAMESPACE)

    def budget_comes(self, app: str, least: int | None, most: int | None) -> None:
        """Create a PodDisruptionBudget for the pods of a name: a minimum of available pods, or a maximum of others."""
        amount = ("minAvailable", least) if least is not None else ("maxUnavailable", most)
        spec = dict([("selector", {"matchLabels": {APP: app}}), amount])
        self._store.create(POD_DISRUPTION_BUDGETS, {"metadata": {"name": app}, "spec": spec}, namespace=NAMESPACE)
