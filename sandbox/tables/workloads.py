"""The columns of workloads, of the services in front of them, and of the objects that protect and group their pods."""

from muster.framework.model.times import human_duration, parse_time
from muster.sandbox.objects import Object, get_in, metadata
from muster.sandbox.tables.columns import (
    AGE,
    NAME,
    NONE,
    Cell,
    Column,
    field,
    joined,
    text,
    wide,
)


def _ready_of_desired(workload: Object, now: float) -> str:
    return f"{get_in(workload, ('status', 'readyReplicas')) or 0}/{workload['spec'].get('replicas', 0)}"


def _ports(service: Object, now: float) -> str:
    ports = service["spec"].get("ports") or ()
    return ",".join(f"{port['port']}/{port['protocol']}" for port in ports) or NONE


def _selector(obj: Object, now: float) -> str:
    selector = obj["spec"].get("selector") or {}
    labels = selector.get("matchLabels", selector)
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NONE


def _of_containers(name: str) -> Cell:
    def cell(workload: Object, now: float) -> str:
        return ",".join(container[name] for container in workload["spec"]["template"]["spec"]["containers"])

    return cell


_TEMPLATE_COLUMNS = (wide("Containers", _of_containers("name")), wide("Images", _of_containers("image")))

POD_DISRUPTION_BUDGETS = (
    NAME,
    Column("Min Available", text("spec.minAvailable", "N/A")),
    Column("Max Unavailable", text("spec.maxUnavailable", "N/A")),
    Column("Allowed Disruptions", field("status.disruptionsAllowed", 0), "integer"),
    AGE,
)
REPLICA_SETS = (
    NAME,
    Column("Desired", field("spec.replicas", 0), "integer"),
    Column("Current", field("status.replicas", 0), "integer"),
    Column("Ready", field("status.readyReplicas", 0), "integer"),
    AGE,
    *_TEMPLATE_COLUMNS,
    wide("Selector", _selector),
)
STATEFUL_SETS = (NAME, Column("Ready", _ready_of_desired), AGE, *_TEMPLATE_COLUMNS)
DEPLOYMENTS = (
    NAME,
    Column("Ready", _ready_of_desired),
    Column("Up-to-date", field("status.updatedReplicas", 0)),
    Column("Available", field("status.availableReplicas", 0)),
    AGE,
    *_TEMPLATE_COLUMNS,
    wide("Selector", _selector),
)
SERVICES = (
    NAME,
    Column("Type", field("spec.type")),
    Column("Cluster-IP", field("spec.clusterIP", NONE)),
    Column("External-IP", joined("spec.externalIPs", NONE)),
    Column("Port(s)", _ports),
    AGE,
    wide("Selector", _selector),
)

_JOB_STATES = {
    "Complete": "Complete",
    "Failed": "Failed",
    "": "Terminating",
    "Suspended": "Suspended",
    "FailureTarget": "FailureTarget",
    "SuccessCriteriaMet": "SuccessCriteriaMet",
}
"""The status shown for a job, the most informative first, by the condition that is true; "" for a job being deleted."""


def _job_state(job: Object, now: float) -> str:
    true = {item["type"] for item in get_in(job, ("status", "conditions")) or () if item.get("status") == "True"}
    if metadata(job).get("deletionTimestamp"):
        true.add("")
    return next((state for condition, state in _JOB_STATES.items() if condition in true), "Running")


def _completions(job: Object, now: float) -> str:
    succeeded, parallelism = get_in(job, ("status", "succeeded")) or 0, job["spec"].get("parallelism") or 0
    if job["spec"].get("completions") is not None:
        return f"{succeeded}/{job['spec']['completions']}"
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: Object, now: float) -> str:
    began, ended = get_in(job, ("status", "startTime")), get_in(job, ("status", "completionTime"))
    return human_duration((parse_time(ended) if ended else now) - parse_time(began)) if began else ""


def _group_policy(group: Object, now: float) -> str:
    return "Gang" if get_in(group, ("spec", "schedulingPolicy", "gang")) is not None else "Basic"


def _group_state(group: Object, now: float) -> str:
    conditions = {item["type"]: item for item in get_in(group, ("status", "conditions")) or ()}
    if "DisruptionTarget" in conditions:
        return str(conditions["DisruptionTarget"].get("reason", ""))
    if "PodGroupInitiallyScheduled" not in conditions:
        return "Pending"
    return "Scheduled" if conditions["PodGroupInitiallyScheduled"].get("status") == "True" else "Unschedulable"


JOBS = (
    NAME,
    Column("Status", _job_state),
    Column("Completions", _completions),
    Column("Duration", _duration),
    AGE,
    *_TEMPLATE_COLUMNS,
    wide("Selector", _selector),
)
NATIVE_POD_GROUPS = (
    NAME,
    Column("Policy", _group_policy),
    Column("Workload", field("spec.workloadRef.workloadName", NONE)),
    Column("Status", _group_state),
    AGE,
)
COMPOSITE_POD_GROUPS = (
    NAME,
    Column("Policy", _group_policy),
    Column("Workload", field("spec.workloadRef.workloadName", NONE)),
    AGE,
)
