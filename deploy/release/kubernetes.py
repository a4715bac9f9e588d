"""What is installed in a cluster: the chart as a package for an OCI registry, and `install.yaml` for kubectl.

Both come from what the repository holds for everyone: `charts/muster`, and `deploy/`, which is rendered from it. The
only changes are the owner's name and the image's repository, in a copy.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml

from deploy.release.plan import REPOSITORY, Plan, ReleaseError
from tests.controlplane.binaries import locate, locate_kubectl

_IMAGE = re.compile(r"^(image:\n(?:  #.*\n)*  repository: )muster$", re.MULTILINE)


def build_chart(plan: Plan) -> Path:
    """Packages the chart; returns the package's path."""
    with tempfile.TemporaryDirectory() as folder:
        chart = Path(folder, "muster")
        shutil.copytree(REPOSITORY / "charts" / "muster", chart)
        about, values = chart / "Chart.yaml", chart / "values.yaml"
        about.write_text(plan.owned(about.read_text()))
        text, replaced = _IMAGE.subn(rf"\g<1>{plan.image}", values.read_text())
        if replaced != 1:
            raise ReleaseError("charts/muster/values.yaml has no image.repository that a release could set")
        values.write_text(text)
        _run(str(locate("helm")), "package", str(chart), f"--destination={plan.output}")
    return plan.output / f"muster-{plan.version}.tgz"


def build_manifest(plan: Plan) -> Path:
    """Writes what `kubectl apply -k deploy` would apply, with the release's image; returns the file's path."""
    path = plan.output / "install.yaml"
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "deploy")
        for name in ("crds", "manifests"):
            shutil.copytree(REPOSITORY / "deploy" / name, copy / name)
        shutil.copy(REPOSITORY / "deploy" / "namespace.yaml", copy)
        kustomization = yaml.safe_load((REPOSITORY / "deploy" / "kustomization.yaml").read_text())
        kustomization["images"] = [{"name": "muster", "newName": plan.image, "newTag": plan.version}]
        (copy / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        path.write_text(_run(str(locate_kubectl()), "kustomize", str(copy)))
    return path


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseError(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout
