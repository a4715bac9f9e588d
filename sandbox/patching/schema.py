"""How the lists and maps of each kind merge: the part of the API schema that patches need, as tables.

The facts are those of the published OpenAPI document: `x-kubernetes-patch-merge-key` for strategic merge,
`x-kubernetes-list-type`, `-list-map-keys` and `-map-type` for server-side apply. What is not in a table is atomic if it
is a list and granular if it is a map. A path names fields only; list items add no step.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.sandbox.kinds import (
    CSI_NODES,
    DEPLOYMENTS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
)
from muster.sandbox.registry import Kind

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListRule:
    """How a list merges.

    `merge_key` identifies an item in a strategic merge; `keys` identify it in server-side apply. A list without keys is
    a set of scalars. `key_defaults` fill in what an item may leave out of its keys.
    """

    merge_key: str = ""
    keys: tuple[str, ...] = ()
    key_defaults: tuple[tuple[str, str], ...] = ()

    @property
    def is_set(self) -> bool:
        """Whether the items are scalars that are merged as a set."""
        return not self.keys and not self.merge_key

    def identity(self, item: Mapping[str, object]) -> dict[str, object]:
        """What identifies an item for server-side apply."""
        defaults = dict(self.key_defaults)
        return {key: item.get(key, defaults.get(key)) for key in self.keys}


SET = ListRule()


def _by(key: str, *more: str) -> ListRule:
    return ListRule(key, (key, *more), (("protocol", "TCP"),) if "protocol" in more else ())


def _under(prefix: str, rules: Mapping[str, ListRule]) -> dict[Path, ListRule]:
    steps = tuple(prefix.split(".")) if prefix else ()
    return {(*steps, *path.split(".")): rule for path, rule in rules.items()}


_METADATA = _under("metadata", {"finalizers": SET, "ownerReferences": _by("uid")})
_CONDITIONS = _under("status", {"conditions": _by("type")})
_CONTAINER = {
    "ports": _by("containerPort", "protocol"),
    "env": _by("name"),
    "volumeMounts": _by("mountPath"),
    "volumeDevices": _by("devicePath"),
    "resources.claims": ListRule(keys=("name",)),
}
_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
_POD_SPEC = {
    **dict.fromkeys(_CONTAINER_LISTS, _by("name")),
    **{f"{outer}.{inner}": rule for outer in _CONTAINER_LISTS for inner, rule in _CONTAINER.items()},
    "volumes": _by("name"),
    "imagePullSecrets": _by("name"),
    "hostAliases": _by("ip"),
    "resourceClaims": _by("name"),
    "schedulingGates": _by("name"),
    "topologySpreadConstraints": _by("topologyKey", "whenUnsatisfiable"),
}
_POD_STATUS = {"podIPs": _by("ip"), "hostIPs": ListRule("ip"), "resourceClaimStatuses": _by("name")}
_TEMPLATE = _under("spec.template.spec", _POD_SPEC) | _CONDITIONS


_LISTS: dict[Kind, dict[Path, ListRule]] = {
    PODS: _under("spec", _POD_SPEC) | _under("status", _POD_STATUS) | _CONDITIONS,
    NODES: _under("spec", {"podCIDRs": SET}) | _under("status", {"addresses": _by("type")}) | _CONDITIONS,
    NAMESPACES: _CONDITIONS,
    SERVICES: _under("spec", {"ports": _by("port", "protocol")}) | _CONDITIONS,
    SERVICE_ACCOUNTS: _under("", {"secrets": _by("name")}),
    PERSISTENT_VOLUME_CLAIMS: _CONDITIONS,
    POD_DISRUPTION_BUDGETS: _CONDITIONS,
    CSI_NODES: _under("spec", {"drivers": _by("name")}),
    **dict.fromkeys((DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS), _TEMPLATE),
}

_ATOMIC_MAPS = {
    "nodeSelector",
    "labelSelector",
    "namespaceSelector",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preference",
    "claimRef",
    "involvedObject",
    "regarding",
    "related",
}
"""Field names whose value is one unit to server-side apply, wherever they stand; `spec.selector` is one too."""


def list_rule(kind: Kind, path: Path) -> ListRule | None:
    """How the list at a path merges, or None where it is atomic. Custom resources take no strategic merge."""
    if kind.custom and path in kind.custom.list_keys:
        return ListRule(keys=kind.custom.list_keys[path])
    return _METADATA.get(path) or _LISTS.get(kind, {}).get(path)


def is_atomic_map(path: Path) -> bool:
    """Whether server-side apply takes the map at a path as one unit."""
    return path == ("spec", "selector") or (bool(path) and path[-1] in _ATOMIC_MAPS)


def is_replaced(kind: Kind, path: Path) -> bool:
    """Whether a strategic merge replaces the map at a path as a whole."""
    return kind is POD_DISRUPTION_BUDGETS and path == ("spec", "selector")
