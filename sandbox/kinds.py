"""The built-in kinds that the sandbox serves, as a table. To serve one more, add a line.

What needs code (defaults, validation, columns) is in `rules` and `tables`, each keyed by these values.
"""

from muster.sandbox.registry import Kind, Selectable, fields

_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

PODS = Kind(
    resource="pods",
    kind="Pod",
    short_names=("po",),
    categories=("all",),
    subresources=("binding", "eviction", "status"),
    generation=True,
    returns_deleted=True,
    selectable=fields(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    )
    | fields("spec.hostNetwork", absent="false"),
)
NODES = Kind(
    resource="nodes",
    kind="Node",
    namespaced=False,
    short_names=("no",),
    subresources=("status",),
    selectable=fields("spec.unschedulable", absent="false"),
)
NAMESPACES = Kind(
    resource="namespaces",
    kind="Namespace",
    namespaced=False,
    short_names=("ns",),
    subresources=("status",),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    returns_deleted=True,
    selectable=fields("status.phase"),
)
EVENTS = Kind(
    resource="events",
    kind="Event",
    short_names=("ev",),
    create_on_update=True,
    selectable=fields(*(f"involvedObject.{name}" for name in _INVOLVED), "reason", "reportingComponent", "type")
    | {"source": Selectable(("source", "component"))},
)
EVENTS_V1 = Kind(
    group="events.k8s.io",
    resource="events",
    kind="Event",
    short_names=("ev",),
    create_on_update=True,
    view_of=EVENTS,
    selectable={f"regarding.{name}": Selectable(("involvedObject", name)) for name in _INVOLVED}
    | fields("reason", "type")
    | {"reportingController": Selectable(("reportingComponent",))},
)
BINDINGS = Kind(resource="bindings", kind="Binding", verbs=("create",))
TOKEN_REVIEWS = Kind(
    group="authentication.k8s.io", resource="tokenreviews", kind="TokenReview", namespaced=False, verbs=("create",)
)
SELF_SUBJECT_REVIEWS = Kind(
    group="authentication.k8s.io",
    resource="selfsubjectreviews",
    kind="SelfSubjectReview",
    namespaced=False,
    verbs=("create",),
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
CLUSTER_ROLE_BINDINGS = Kind(
    group="rbac.authorization.k8s.io",
    resource="clusterrolebindings",
    kind="ClusterRoleBinding",
    namespaced=False,
    create_on_update=True,
)
CLUSTER_ROLES = Kind(
    group="rbac.authorization.k8s.io",
    resource="clusterroles",
    kind="ClusterRole",
    namespaced=False,
    create_on_update=True,
)
ROLE_BINDINGS = Kind(
    group="rbac.authorization.k8s.io", resource="rolebindings", kind="RoleBinding", create_on_update=True
)
ROLES = Kind(group="rbac.authorization.k8s.io", resource="roles", kind="Role", create_on_update=True)
CUSTOM_RESOURCE_DEFINITIONS = Kind(
    group="apiextensions.k8s.io",
    resource="customresourcedefinitions",
    kind="CustomResourceDefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources=("status",),
    generation=True,
    returns_deleted=True,
)
SERVICES = Kind(
    resource="services",
    kind="Service",
    short_names=("svc",),
    categories=("all",),
    subresources=("status",),
    create_on_update=True,
    returns_deleted=True,
    selectable=fields("spec.clusterIP", "spec.type"),
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
    subresources=("scale", "status"),
    generation=True,
    selectable=fields("status.replicas", absent="0"),
)
RESOURCE_QUOTAS = Kind(
    resource="resourcequotas",
    kind="ResourceQuota",
    short_names=("quota",),
    subresources=("status",),
    returns_deleted=True,
)
REPLICA_SETS = Kind(
    group="apps",
    resource="replicasets",
    kind="ReplicaSet",
    short_names=("rs",),
    categories=("all",),
    subresources=("scale", "status"),
    generation=True,
    selectable=fields("status.replicas", absent="0"),
)
STATEFUL_SETS = Kind(
    group="apps",
    resource="statefulsets",
    kind="StatefulSet",
    short_names=("sts",),
    categories=("all",),
    subresources=("scale", "status"),
    generation=True,
)
DEPLOYMENTS = Kind(
    group="apps",
    resource="deployments",
    kind="Deployment",
    short_names=("deploy",),
    categories=("all",),
    subresources=("scale", "status"),
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

JOBS = Kind(
    group="batch",
    resource="jobs",
    kind="Job",
    categories=("all",),
    subresources=("status",),
    generation=True,
    selectable=fields("status.successful", absent="0"),
)
RESOURCE_CLAIMS = Kind(
    group="resource.k8s.io",
    resource="resourceclaims",
    kind="ResourceClaim",
    subresources=("status",),
    returns_deleted=True,
)
RESOURCE_CLAIM_TEMPLATES = Kind(
    group="resource.k8s.io", resource="resourceclaimtemplates", kind="ResourceClaimTemplate", returns_deleted=True
)
DEVICE_CLASSES = Kind(
    group="resource.k8s.io",
    resource="deviceclasses",
    kind="DeviceClass",
    namespaced=False,
    generation=True,
    returns_deleted=True,
)
RESOURCE_SLICES = Kind(
    group="resource.k8s.io",
    resource="resourceslices",
    kind="ResourceSlice",
    namespaced=False,
    generation=True,
    returns_deleted=True,
    selectable=fields("spec.nodeName", "spec.driver"),
)
DEVICE_TAINT_RULES = Kind(
    group="resource.k8s.io",
    resource="devicetaintrules",
    kind="DeviceTaintRule",
    namespaced=False,
    subresources=("status",),
    generation=True,
    unconditional_update=False,
)
NATIVE_POD_GROUPS = Kind(
    group="scheduling.k8s.io",
    version="v1beta1",
    resource="podgroups",
    kind="PodGroup",
    subresources=("status",),
)
COMPOSITE_POD_GROUPS = Kind(
    group="scheduling.k8s.io",
    version="v1alpha3",
    resource="compositepodgroups",
    kind="CompositePodGroup",
    subresources=("status",),
)
WORKLOADS = Kind(group="scheduling.k8s.io", version="v1beta1", resource="workloads", kind="Workload")

REVIEWS = (SELF_SUBJECT_REVIEWS, TOKEN_REVIEWS, SELF_SUBJECT_ACCESS_REVIEWS, SUBJECT_ACCESS_REVIEWS)
"""Kinds that are answered at once and never stored."""

ACCESS = (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES)
"""Kinds of RBAC, which are stored and have no effect: everyone may do everything."""

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
    RESOURCE_QUOTAS,
    SERVICE_ACCOUNTS,
    SERVICES,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    JOBS,
    *REVIEWS,
    LEASES,
    EVENTS_V1,
    POD_DISRUPTION_BUDGETS,
    *ACCESS,
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    RESOURCE_CLAIMS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_SLICES,
    PRIORITY_CLASSES,
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
)

NATIVE_GROUP_KINDS = (NATIVE_POD_GROUPS, COMPOSITE_POD_GROUPS, WORKLOADS)
"""Kinds that kube-apiserver serves only with feature gates and `--runtime-config=scheduling.k8s.io/v1beta1=true`."""
