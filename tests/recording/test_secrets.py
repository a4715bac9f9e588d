"""What a recording keeps of annotations: those that decisions read, and no others."""

import msgspec
import pytest

from muster.operator.recording.secrets import reduced
from muster.plugins.autopodgroups.api import JOB_SET_EXCLUSIVE, JobTemplateMeta, WorkloadMeta


class Meta(msgspec.Struct):
    annotations: dict[str, str]


class Annotated(msgspec.Struct):
    """An object with annotations, as far as recordings look at it."""

    metadata: Meta


@pytest.mark.parametrize(
    "key",
    [
        "muster-scheduler.io/slice-size",
        "leaderworkerset.sigs.k8s.io/size",
        "leaderworkerset.sigs.k8s.io/exclusive-topology",
        JOB_SET_EXCLUSIVE,
        "resource.kubernetes.io/extended-resource-claim",
        "topology.node.k8s.io/fingerprint",
        "volume.beta.kubernetes.io/storage-class",
    ],
)
def test_annotations_that_decisions_read_are_kept(key: str) -> None:
    annotated = Annotated(Meta({key: "2", "example.com/token": "hunter2"}))
    assert reduced(annotated, ()).metadata.annotations == {key: "2"}


@pytest.mark.parametrize("kind", [WorkloadMeta, JobTemplateMeta])
def test_other_annotations_of_workloads_and_templates_are_not_decoded(
    kind: type[WorkloadMeta | JobTemplateMeta],
) -> None:
    metadata = {"name": "web", "annotations": {JOB_SET_EXCLUSIVE: "rack", "example.com/token": "hunter2"}}
    assert msgspec.convert(metadata, kind).annotations == {JOB_SET_EXCLUSIVE: "rack"}
