"""Requests that act on objects or answer a question, rather than store what they carry.

Binding a pod to a node (`pods/{name}/binding`, and the old `bindings`), evicting one (`pods/{name}/eviction`), scaling
a workload (`…/scale`), and the reviews of tokens and rights. There is no access control here, so every review lets
everyone in. Called by the HTTP edge.
"""

from dataclasses import replace

from muster.sandbox import errors
from muster.sandbox.admission import topology_labels
from muster.sandbox.errors import INVALID, NOT_SUPPORTED, REQUIRED, InvalidField
from muster.sandbox.kinds import (
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICATION_CONTROLLERS,
    SELF_SUBJECT_REVIEWS,
    TOKEN_REVIEWS,
)
from muster.sandbox.ledger import Entry
from muster.sandbox.lifecycle import DeleteOptions, Deletion, check_delete_preconditions, wrong_uid
from muster.sandbox.objects import (
    Object,
    get_in,
    metadata,
    name_of,
    namespace_of,
    set_condition,
    with_metadata,
    without,
)
from muster.sandbox.registry import Kind
from muster.sandbox.selectors import from_label_selector
from muster.sandbox.store import ObjectStore

_BUDGET_CAUSE = "DisruptionBudget"
_WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."


def bind(store: ObjectStore, name: str, binding: Object, *, namespace: str, dry_run: bool = False) -> Entry:
    """Assigns a pod to the node that a `v1.Binding` names, and returns the pod.

    Raises 404 where there is no such pod; 409 where its uid or version is not the binding's, where it has a node
    already, is being deleted or is gated. That the node exists is not checked, here as in a real cluster.
    """
    if name_of(binding) != name:
        raise errors.bad_request("name in URL does not match name in Binding object")
    node = _target(binding)
    entry = store.get(PODS, name, namespace=namespace)
    _check_incarnation(entry, metadata(binding))
    pod = entry.obj
    if metadata(pod).get("deletionTimestamp"):
        raise _unbindable(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        raise _unbindable(name, f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"')
    if pod["spec"].get("schedulingGates"):
        raise _unbindable(name, f"pod {name} has non-empty .spec.schedulingGates")
    bound = _bound(pod, node, binding, topology_labels(store, node), now=store.now)
    return entry if dry_run else store.replace_stored(PODS, bound)


def _target(binding: Object) -> str:
    kind, node = get_in(binding, ("target", "kind")) or "", get_in(binding, ("target", "name")) or ""
    wrong = []
    if kind not in ("", "Node"):
        wrong.append(InvalidField(NOT_SUPPORTED, "target.kind", 'supported values: "Node", "<empty>"', value=kind))
    if not node:
        wrong.append(InvalidField(REQUIRED, "target.name"))
    if wrong:
        raise errors.StatusError(500, "", errors.aggregate(wrong))
    return str(node)


def _check_incarnation(entry: Entry, wanted: Object) -> None:
    if wanted.get("uid") and wanted["uid"] != metadata(entry.obj)["uid"]:
        raise wrong_uid(PODS, entry, wanted["uid"])
    if wanted.get("resourceVersion") and wanted["resourceVersion"] != str(entry.revision):
        raise errors.modified(PODS, name_of(entry.obj))


def _unbindable(name: str, why: str) -> errors.StatusError:
    return errors.conflict(PODS, name, why, resource="pods/binding")


def _bound(pod: Object, node: str, binding: Object, topology: Object, *, now: str) -> Object:
    labels = (metadata(pod).get("labels") or {}) | (metadata(binding).get("labels") or {}) | topology
    annotations = (metadata(pod).get("annotations") or {}) | (metadata(binding).get("annotations") or {})
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now}
    status = without(pod.get("status") or {}, "nominatedNodeName")
    status["conditions"] = set_condition(status.get("conditions"), condition)
    bound = pod | {"spec": pod["spec"] | {"nodeName": node}, "status": status}
    return with_metadata(bound, labels=labels or None, annotations=annotations or None)


def evict(store: ObjectStore, name: str, eviction: Object, *, namespace: str, options: DeleteOptions) -> Deletion:
    """Deletes a pod unless a disruption budget protects it: 429 then, and the budget is charged otherwise."""
    if name_of(eviction) != name:
        raise errors.bad_request("name in URL does not match name in Eviction object")
    pod = store.get(PODS, name, namespace=namespace).obj
    check_delete_preconditions(PODS, pod, options)
    if not _is_harmless(pod):
        _charge_budget(store, pod, dry_run=options.dry_run)
    if not options.dry_run:
        _mark_disrupted(store, pod)
    return store.delete(PODS, name, namespace=namespace, options=replace(options, resource_version=""))


def _is_harmless(pod: Object) -> bool:
    ended = get_in(pod, ("status", "phase")) in ("Succeeded", "Failed", "Pending")
    return ended or bool(metadata(pod).get("deletionTimestamp"))


def _charge_budget(store: ObjectStore, pod: Object, *, dry_run: bool) -> None:
    known = store.objects(POD_DISRUPTION_BUDGETS, namespace=namespace_of(pod))
    budgets = [budget for budget in known if _covers(budget, pod)]
    if not budgets:
        return
    if len(budgets) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise errors.StatusError(500, "", message)
    budget = budgets[0]
    status = budget.get("status") or {}
    if (status.get("observedGeneration") or 0) < metadata(budget)["generation"]:
        cause = f"The disruption budget {name_of(budget)} is still being processed by the server."
        raise _refused(cause, retry_after=10)
    if (status.get("disruptionsAllowed") or 0) <= 0:
        desired, current = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
        cause = f"The disruption budget {name_of(budget)} needs {desired} healthy pods and has {current} currently"
        raise _refused(cause)
    if not dry_run:
        disrupted = (status.get("disruptedPods") or {}) | {name_of(pod): store.now}
        charged = status | {"disruptionsAllowed": status["disruptionsAllowed"] - 1, "disruptedPods": disrupted}
        if not charged["disruptionsAllowed"]:
            charged["conditions"] = set_condition(status.get("conditions"), _exhausted(budget, store.now))
        store.replace_stored(POD_DISRUPTION_BUDGETS, budget | {"status": charged})


def _exhausted(budget: Object, now: str) -> Object:
    return {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "observedGeneration": (budget.get("status") or {}).get("observedGeneration", 0),
        "lastTransitionTime": now,
    }


def _covers(budget: Object, pod: Object) -> bool:
    labels = metadata(pod).get("labels") or {}
    selector = get_in(budget, ("spec", "selector"))
    return selector is not None and all(item.holds(labels) for item in from_label_selector(selector))


def _refused(cause: str, *, retry_after: int = 0) -> errors.StatusError:
    causes = [{"reason": _BUDGET_CAUSE, "message": cause}]
    return errors.too_many_requests(_WOULD_VIOLATE, causes=causes, retry_after=retry_after)


def _mark_disrupted(store: ObjectStore, pod: Object) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastTransitionTime": store.now,
    }
    status = pod.get("status") or {}
    conditions = set_condition(status.get("conditions"), condition)
    store.replace_stored(PODS, pod | {"status": status | {"conditions": conditions}})


_USER = {"username": "sandbox", "groups": ["system:masters", "system:authenticated"]}


def review(kind: Kind, asked: Object) -> Object:
    """The review with its verdict: the token is good, the act is allowed, every client is the same user."""
    typed = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": {}}
    if kind is SELF_SUBJECT_REVIEWS:
        return typed | {"status": {"userInfo": _USER}}
    status = {"authenticated": True, "user": _USER} if kind is TOKEN_REVIEWS else {"allowed": True}
    return typed | {"spec": asked.get("spec") or {}, "status": status}


def scale_of(kind: Kind, workload: Object) -> Object:
    """The `autoscaling/v1` Scale of a workload."""
    selector = workload["spec"].get("selector") or {}
    labels = selector if kind is REPLICATION_CONTROLLERS else selector.get("matchLabels") or {}
    fields = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata(workload)[key] for key in fields},
        "spec": {"replicas": workload["spec"].get("replicas", 0)},
        "status": {
            "replicas": get_in(workload, ("status", "replicas")) or 0,
            "selector": ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
        },
    }


def scaled(workload: Object, scale: Object) -> Object:
    """A workload with the number of replicas, and the version if it names one, of a Scale."""
    replicas = get_in(scale, ("spec", "replicas")) or 0
    if not isinstance(replicas, int) or replicas < 0:
        wrong = InvalidField(INVALID, "spec.replicas", "must be greater than or equal to 0", value=replicas)
        raise errors.invalid_of("Scale", name_of(workload), [wrong], group="autoscaling")
    version = metadata(scale).get("resourceVersion") or metadata(workload)["resourceVersion"]
    return with_metadata(workload, resourceVersion=version) | {"spec": workload["spec"] | {"replicas": replicas}}
