"""The way from scheduler-plugins, followed literally, from the state that is hardest to leave."""

from pathlib import Path

import yaml

from tests.controlplane.plane import ControlPlane
from tests.deploy.followed.conftest import clear, uninstall
from tests.deploy.followed.page import Reader
from tests.deploy.helm import REPOSITORY, Helm

_OLD_STATUS = ("phase", "occupiedBy", "scheduled", "running", "succeeded", "failed", "scheduleStartTime")


def test_the_migration_from_scheduler_plugins_can_be_followed(
    whole_cluster: ControlPlane, whole_helm: Helm, reader: Reader, tmp_path: Path
) -> None:
    """From a release that has the definition among its templates, and one Deployment."""
    # The chart of Muster, which another test may have installed before, leaves its definition behind.
    whole_cluster.kubectl("delete", "crd", "podgroups.scheduling.x-k8s.io", "--ignore-not-found")
    chart = _old_chart(tmp_path / "sched")
    reader.run(f"helm install sched {chart} --namespace sched --create-namespace")
    reader.run("kubectl --namespace sched rollout status deployment/old --timeout=60s")
    try:
        reader.follow(REPOSITORY / "docs" / "migrate.md")
        assert whole_cluster.kubectl("--namespace", "sched", "get", "deployment,secret", "-o", "name") == ""
    finally:
        clear(whole_cluster)
        uninstall(whole_cluster, whole_helm)


def _old_chart(folder: Path) -> Path:
    """A chart with the definition as scheduler-plugins has it, without columns and conditions, and a scheduler."""
    path = REPOSITORY / "deploy" / "crds" / "scheduling.x-k8s.io_podgroups.yaml"
    definition = yaml.safe_load(path.read_text())
    [version] = definition["spec"]["versions"]
    del version["additionalPrinterColumns"]
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    for field in [*status]:
        if field not in _OLD_STATUS:
            del status[field]
    labels = {"app": "old"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "scheduler", "image": "old"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "old"}, "spec": spec}
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": "sched", "version": "0.1.0"}))
    (folder / "templates" / "all.yaml").write_text(yaml.safe_dump_all([definition, deployment]))
    return folder
