"""Stand-ins for the parts of a cluster that act on stored objects: kubelets, namespaces and disruption budgets.

The kubelet starts bound pods at once and marks them Running, and terminates deleted ones at once; containers never fail
or end here. The namespace controller deletes the objects in terminating namespaces, then the namespaces; another one
counts for disruption budgets. Each has a `step` that does all that is due; the server calls it after every change.
"""

from muster.sandbox.kinds import NAMESPACES, NODES, POD_DISRUPTION_BUDGETS, PODS
from muster.sandbox.ledger import DELETED, Change, Entry, HorizonError
from muster.sandbox.lifecycle import DeleteOptions
from muster.sandbox.objects import Object, get_in, metadata, name_of, namespace_of, set_condition
from muster.sandbox.selectors import from_label_selector
from muster.sandbox.store import ObjectStore

_STARTED_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


class Kubelet:
    """Runs the pods of all nodes of one store."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._addresses = 0
        self._cursor = self._start_over()

    def step(self) -> None:
        """Starts what has been bound and ends what has been deleted since the last step."""
        try:
            changes, self._cursor = self._store.ledger.read(PODS, self._cursor)
        except HorizonError:
            self._cursor = self._start_over()
            return
        for key in dict.fromkeys(change.entry.key for change in changes if _concerns_kubelet(change)):
            entry = self._store.ledger.get(PODS, key)
            if entry is not None:
                self._care_for(entry)

    def _start_over(self) -> int:
        """Handles all pods. Returns the position in the log to continue from."""
        cursor = self._store.ledger.cursor(PODS, self._store.ledger.revision)
        for entry in self._store.ledger.entries(PODS):
            self._care_for(entry)
        return cursor

    def _care_for(self, entry: Entry) -> None:
        pod = entry.obj
        if not pod["spec"].get("nodeName"):
            return
        if metadata(pod).get("deletionTimestamp"):
            options = DeleteOptions(grace=0, uid=metadata(pod)["uid"])
            self._store.delete(PODS, name_of(pod), namespace=namespace_of(pod), options=options)
        elif get_in(pod, ("status", "phase")) == "Pending":
            self._store.replace_stored(PODS, self._running(pod))

    def _running(self, pod: Object) -> Object:
        now = self._store.now
        status = pod["status"]
        conditions = status.get("conditions")
        for name in _STARTED_CONDITIONS:
            conditions = set_condition(conditions, {"type": name, "status": "True", "lastTransitionTime": now})
        host, address = self._host_address(pod["spec"]["nodeName"]), self._next_address()
        started = {
            "phase": "Running",
            "conditions": conditions,
            "hostIP": host,
            "hostIPs": [{"ip": host}],
            "podIP": address,
            "podIPs": [{"ip": address}],
            "startTime": now,
            "containerStatuses": [_started(container, now) for container in pod["spec"]["containers"]],
        }
        return pod | {"status": status | started}

    def _host_address(self, node: str) -> str:
        entry = self._store.find(NODES, node)
        addresses = get_in(entry.obj, ("status", "addresses")) if entry else None
        return next((item["address"] for item in addresses or () if item["type"] == "InternalIP"), "127.0.0.1")

    def _next_address(self) -> str:
        self._addresses += 1
        return f"10.{128 + self._addresses // 65536 % 64}.{self._addresses // 256 % 256}.{self._addresses % 256}"


def _concerns_kubelet(change: Change) -> bool:
    return change.type != DELETED and bool(change.entry.obj["spec"].get("nodeName"))


def _started(container: Object, now: str) -> Object:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "containerID": f"sandbox://{container['name']}",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": now}},
    }


_AT_ONCE = DeleteOptions(grace=0)


class NamespaceCleaner:
    """Finishes the deletion of namespaces of one store."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def step(self) -> None:
        """Empties namespaces that are being deleted; objects that finalizers hold are tried again in a later step."""
        for entry in self._store.ledger.entries(NAMESPACES):
            if metadata(entry.obj).get("deletionTimestamp"):
                self._clean(entry.obj)

    def _clean(self, namespace: Object) -> None:
        name = name_of(namespace)
        kinds = self._store.kinds
        contents = [kind for kind in kinds if kind.namespaced and "list" in kind.verbs and not kind.view_of]
        for kind in contents:
            for obj in self._store.objects(kind, namespace=name):
                self._store.delete(kind, name_of(obj), namespace=name, options=_AT_ONCE)
        if not any(self._store.ledger.entries(kind, name) for kind in contents):
            self._store.ledger.remove(NAMESPACES, name)


class BudgetController:
    """Counts for the disruption budgets of one store how many pods are healthy, and how many may be evicted."""

    KINDS = (PODS, POD_DISRUPTION_BUDGETS)

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def step(self) -> None:
        """Brings the status of every budget up to date."""
        for budget in list(self._store.objects(POD_DISRUPTION_BUDGETS)):
            status = self._counted(budget)
            if status != budget.get("status"):
                self._store.replace_stored(POD_DISRUPTION_BUDGETS, budget | {"status": status})

    def _counted(self, budget: Object) -> Object:
        selector, before = from_label_selector(get_in(budget, ("spec", "selector"))), budget.get("status") or {}
        pods = [
            pod
            for pod in self._store.objects(PODS, namespace=namespace_of(budget))
            if get_in(budget, ("spec", "selector")) is not None
            and all(item.holds(metadata(pod).get("labels") or {}) for item in selector)
            and get_in(pod, ("status", "phase")) not in ("Succeeded", "Failed")
        ]
        staying = {name_of(pod) for pod in pods if not metadata(pod).get("deletionTimestamp")}
        disrupted = {name: when for name, when in (before.get("disruptedPods") or {}).items() if name in staying}
        well = sum(_is_ready(pod) and name_of(pod) in staying - disrupted.keys() for pod in pods)
        desired = _desired(budget["spec"], len(pods))
        allowed = max(well - desired, 0) if pods else 0
        condition = {
            "type": "DisruptionAllowed",
            "status": "True" if allowed else "False",
            "reason": "SufficientPods" if allowed else "InsufficientPods",
            "message": "",
            "observedGeneration": metadata(budget)["generation"],
            "lastTransitionTime": self._store.now,
        }
        status = {
            "conditions": set_condition(before.get("conditions"), condition),
            "currentHealthy": well,
            "desiredHealthy": desired,
            "disruptionsAllowed": allowed,
            "expectedPods": len(pods),
            "observedGeneration": metadata(budget)["generation"],
        }
        return status | ({"disruptedPods": disrupted} if disrupted else {})


def _is_ready(pod: Object) -> bool:
    conditions = get_in(pod, ("status", "conditions")) or ()
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def _desired(spec: Object, total: int) -> int:
    """The number of pods, of a total, that have to be healthy."""
    if spec.get("maxUnavailable") is not None:
        return max(total - _number(spec["maxUnavailable"], total), 0)
    return _number(spec.get("minAvailable", 1), total)


def _number(amount: int | str, total: int) -> int:
    """A number, or a percentage of the total, rounded up."""
    return amount if isinstance(amount, int) else -(-int(amount.removesuffix("%")) * total // 100)
