"""The kinds that the sandbox serves, as a table.

Everything that differs between kinds and can be said in a word stands here: names, verbs, how updates and deletes
behave, which fields can be selected by. What needs code (defaults, validation, columns) is in `rules` and `tables`,
each keyed by these values. To serve one more kind, add a line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
READ_VERBS = ("get", "list", "watch")


@dataclass(frozen=True, slots=True)
class Selectable:
    """A field that a field selector may name: where it is in the stored object, and what an absent one counts as."""

    path: tuple[str, ...]
    absent: str = ""


def _fields(*paths: str, absent: str = "") -> dict[str, Selectable]:
    return {path: Selectable(tuple(path.split(".")), absent) for path in paths}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Kind:
    """One kind in one API version. Compared by identity, so it serves as a key.

    `subresources` are the ones that are served besides the object itself. `generation` says whether a change of the
    spec counts up `metadata.generation`. `unconditional_update` says whether a PUT may leave the resource version out,
    `create_on_update` whether a PUT of an unknown name creates, `returns_deleted` whether a DELETE answers with the
    object. `custom` marks a custom resource: no strategic merge, and a status write changes nothing but the status.
    `view_of` names the resource of the core group whose objects this kind shows under other field names.
    """

    group: str = ""
    version: str = "v1"
    resource: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    generation: bool = False
    unconditional_update: bool = True
    create_on_update: bool = False
    returns_deleted: bool = False
    custom: bool = False
    view_of: str = ""
    selectable: Mapping[str, Selectable] = field(default_factory=dict)

    @property
    def api_version(self) -> str:
        """`v1` or `group/version`, as objects carry it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """`pods` or `podgroups.scheduling.x-k8s.io`, as messages name it."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def singular(self) -> str:
        """The singular resource name, which kubectl accepts too."""
        return self.kind.lower()

    def __repr__(self) -> str:
        return f"Kind({self.qualified}/{self.version})"


_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

PODS = Kind(
    resource="pods",
    kind="Pod",
    short_names=("po",),
    categories=("all",),
    subresources=("binding", "eviction", "status"),
    generation=True,
    returns_deleted=True,
    selectable=_fields(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    )
    | _fields("spec.hostNetwork", absent="false"),
)
NODES = Kind(
    resource="nodes",
    kind="Node",
    namespaced=False,
    short_names=("no",),
    subresources=("status",),
    selectable=_fields("spec.unschedulable", absent="false"),
)
NAMESPACES = Kind(
    resource="namespaces",
    kind="Namespace",
    namespaced=False,
    short_names=("ns",),
    subresources=("status",),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    returns_deleted=True,
    selectable=_fields("status.phase"),
)
EVENTS = Kind(
    resource="events",
    kind="Event",
    short_names=("ev",),
    create_on_update=True,
    selectable=_fields(*(f"involvedObject.{name}" for name in _INVOLVED), "reason", "reportingComponent", "type")
    | {"source": Selectable(("source", "component"))},
)
EVENTS_V1 = Kind(
    group="events.k8s.io",
    resource="events",
    kind="Event",
    short_names=("ev",),
    create_on_update=True,
    view_of="events",
    selectable={f"regarding.{name}": Selectable(("involvedObject", name)) for name in _INVOLVED}
    | _fields("reason", "type")
    | {"reportingController": Selectable(("reportingComponent",))},
)
BINDINGS = Kind(resource="bindings", kind="Binding", verbs=("create",))
TOKEN_REVIEWS = Kind(
    group="authentication.k8s.io", resource="tokenreviews", kind="TokenReview", namespaced=False, verbs=("create",)
)
SUBJECT_ACCESS_REVIEWS = Kind(
    group="authorization.k8s.io",
    resource="subjectaccessreviews",
    kind="SubjectAccessReview",
    namespaced=False,
    verbs=("create",),
)
SELF_SUBJECT_ACCESS_REVIEWS = Kind(
    group="authorization.k8s.io",
    resource="selfsubjectaccessreviews",
    kind="SelfSubjectAccessReview",
    namespaced=False,
    verbs=("create",),
)
LEASES = Kind(
    group="coordination.k8s.io",
    resource="leases",
    kind="Lease",
    unconditional_update=False,
    create_on_update=True,
)
PRIORITY_CLASSES = Kind(
    group="scheduling.k8s.io",
    resource="priorityclasses",
    kind="PriorityClass",
    namespaced=False,
    short_names=("pc",),
    generation=True,
)
POD_DISRUPTION_BUDGETS = Kind(
    group="policy",
    resource="poddisruptionbudgets",
    kind="PodDisruptionBudget",
    short_names=("pdb",),
    subresources=("status",),
    generation=True,
    unconditional_update=False,
)
POD_GROUPS = Kind(
    group="scheduling.x-k8s.io",
    version="v1alpha1",
    resource="podgroups",
    kind="PodGroup",
    short_names=("pg", "pgs"),
    subresources=("status",),
    generation=True,
    unconditional_update=False,
    custom=True,
)
CUSTOM_RESOURCE_DEFINITIONS = Kind(
    group="apiextensions.k8s.io",
    resource="customresourcedefinitions",
    kind="CustomResourceDefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    verbs=READ_VERBS,
    generation=True,
)
SERVICES = Kind(
    resource="services",
    kind="Service",
    short_names=("svc",),
    categories=("all",),
    subresources=("status",),
    create_on_update=True,
    returns_deleted=True,
    selectable=_fields("spec.clusterIP", "spec.type"),
)
CONFIG_MAPS = Kind(resource="configmaps", kind="ConfigMap", short_names=("cm",))
SERVICE_ACCOUNTS = Kind(resource="serviceaccounts", kind="ServiceAccount", short_names=("sa",), returns_deleted=True)
PERSISTENT_VOLUMES = Kind(
    resource="persistentvolumes",
    kind="PersistentVolume",
    namespaced=False,
    short_names=("pv",),
    subresources=("status",),
    returns_deleted=True,
)
PERSISTENT_VOLUME_CLAIMS = Kind(
    resource="persistentvolumeclaims",
    kind="PersistentVolumeClaim",
    short_names=("pvc",),
    subresources=("status",),
    returns_deleted=True,
)
REPLICATION_CONTROLLERS = Kind(
    resource="replicationcontrollers",
    kind="ReplicationController",
    short_names=("rc",),
    categories=("all",),
    subresources=("status",),
    generation=True,
    selectable=_fields("status.replicas", absent="0"),
)
REPLICA_SETS = Kind(
    group="apps",
    resource="replicasets",
    kind="ReplicaSet",
    short_names=("rs",),
    categories=("all",),
    subresources=("status",),
    generation=True,
    selectable=_fields("status.replicas", absent="0"),
)
STATEFUL_SETS = Kind(
    group="apps",
    resource="statefulsets",
    kind="StatefulSet",
    short_names=("sts",),
    categories=("all",),
    subresources=("status",),
    generation=True,
)
DEPLOYMENTS = Kind(
    group="apps",
    resource="deployments",
    kind="Deployment",
    short_names=("deploy",),
    categories=("all",),
    subresources=("status",),
    generation=True,
)
STORAGE_CLASSES = Kind(
    group="storage.k8s.io",
    resource="storageclasses",
    kind="StorageClass",
    namespaced=False,
    short_names=("sc",),
    returns_deleted=True,
)
CSI_NODES = Kind(
    group="storage.k8s.io",
    resource="csinodes",
    kind="CSINode",
    namespaced=False,
    unconditional_update=False,
    returns_deleted=True,
)
CSI_DRIVERS = Kind(
    group="storage.k8s.io",
    resource="csidrivers",
    kind="CSIDriver",
    namespaced=False,
    unconditional_update=False,
    returns_deleted=True,
)
CSI_STORAGE_CAPACITIES = Kind(
    group="storage.k8s.io",
    resource="csistoragecapacities",
    kind="CSIStorageCapacity",
    unconditional_update=False,
)
VOLUME_ATTACHMENTS = Kind(
    group="storage.k8s.io",
    resource="volumeattachments",
    kind="VolumeAttachment",
    namespaced=False,
    subresources=("status",),
    unconditional_update=False,
    returns_deleted=True,
)

REVIEWS = (TOKEN_REVIEWS, SELF_SUBJECT_ACCESS_REVIEWS, SUBJECT_ACCESS_REVIEWS)
"""Kinds that are answered at once and never stored."""

KINDS = (
    BINDINGS,
    CONFIG_MAPS,
    EVENTS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    REPLICATION_CONTROLLERS,
    SERVICE_ACCOUNTS,
    SERVICES,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    *REVIEWS,
    LEASES,
    EVENTS_V1,
    POD_DISRUPTION_BUDGETS,
    PRIORITY_CLASSES,
    POD_GROUPS,
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
)

_BY_PATH = {(kind.group, kind.version, kind.resource): kind for kind in KINDS}
_BY_TYPE = {(kind.api_version, kind.kind): kind for kind in KINDS}


def by_path(group: str, version: str, resource: str) -> Kind | None:
    """The kind at `/apis/{group}/{version}/{resource}` (`/api/v1/{resource}` for the empty group)."""
    return _BY_PATH.get((group, version, resource))


def by_type(api_version: str, kind: str) -> Kind | None:
    """The kind of an object, from its `apiVersion` and `kind`."""
    return _BY_TYPE.get((api_version, kind))


def stored_as(kind: Kind) -> Kind:
    """The kind whose objects are stored: the kind itself, or the one it is a view of."""
    return _BY_PATH["", "v1", kind.view_of] if kind.view_of else kind


def group_versions() -> list[tuple[str, str]]:
    """Every (group, version) that is served, the core group first."""
    return list(dict.fromkeys((kind.group, kind.version) for kind in KINDS))


def in_group_version(group: str, version: str) -> list[Kind]:
    """The kinds of one group and version, in the order of the table."""
    return [kind for kind in KINDS if (kind.group, kind.version) == (group, version)]
