"""The operations of scheduler_perf as values: what `play` plays, with the values of a workload in place of parameters.

`resolution` makes them from a configuration.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Selector = Mapping[str, str]
"""Labels that a pod has to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateNodes:
    """Makes nodes; without a template those of 4 cores and 32 GiB.

    Attributes:
        prefix: what their names begin with if there is no template.
        label: a label, and the values that the nodes get in turn.
        volumes: by storage driver, how many volumes a node takes.
        migrated: storage plugins of Kubernetes itself whose volumes a driver takes.
    """

    count: int
    prefix: str
    template: Path | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    label: tuple[str, Sequence[str]] | None = None
    volumes: Mapping[str, int] = field(default_factory=dict)
    migrated: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateNamespaces:
    """Makes namespaces whose names are a prefix and a number."""

    count: int
    prefix: str
    template: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePods:
    """Makes pods in a namespace, which is made if it is not there.

    Attributes:
        alike: how many of them, one after another, have one value of the label `signature`.
        waits: for as many bound pods in the namespace, before the next operation.
        collects: what is measured is measured while this is played.
        steady_seconds: each pod that is bound is replaced by another for so long; None for never.
        volume: the template of a volume for each pod.
        claim: the template of the claim for this volume.
    """

    count: int
    namespace: str
    template: Path | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    alike: int = 1
    waits: bool = True
    collects: bool = False
    steady_seconds: float | None = None
    volume: Path | None = None
    claim: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateObjects:
    """Makes objects of any kind; PodGroups in the version of their API that is served, whatever the template says."""

    count: int
    template: Path
    namespace: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    are_groups: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateObjects:
    """Replaces objects, and their status, so many a second."""

    count: int
    template: Path
    per_second: int
    namespace: str | None = None
    subresources: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePods:
    """Deletes the pods that are there, so many a second, beside the next operations."""

    namespace: str
    per_second: int
    selector: Selector = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Churn:
    """Makes an object of each template at intervals until the workload ends.

    Attributes:
        number: how often; 0 for no limit. If it `recreates`, so often, and then they are deleted and made in turn.
    """

    namespace: str
    templates: Sequence[Path]
    recreates: bool
    number: int
    interval_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier:
    """Waits until pods are bound, or until each was tried once; of no namespace for those of all."""

    namespaces: Sequence[str] = ()
    selector: Selector = field(default_factory=dict)
    tried: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StartCollecting:
    """Begins to measure pods of these namespaces that have the labels."""

    namespaces: Sequence[str]
    selector: Selector = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StopCollecting:
    """Ends what `StartCollecting` began."""


@dataclass(frozen=True, slots=True)
class AllocateClaims:
    """Gives the claims of a namespace devices, without pods and without a scheduler."""

    namespace: str


Operation = (
    CreateNodes
    | CreateNamespaces
    | CreatePods
    | CreateObjects
    | UpdateObjects
    | DeletePods
    | Churn
    | Barrier
    | StartCollecting
    | StopCollecting
    | AllocateClaims
)
