"""The packages of a release: sdist and wheel for pip, the chart for Helm, and `install.yaml` for kubectl.

All of them come from what the repository holds for everyone. setuptools builds sdist and wheel as a build frontend
would, the wheel from the contents of the sdist; it runs on a copy, because it leaves folders behind, and is taken from
the running interpreter, so its version is the pinned one and nothing is downloaded. Chart and `install.yaml` come from
`charts/muster`, and from `deploy/`, which is rendered from the chart; only the owner's name and the image's repository
are changed, in a copy.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml

from deploy.release.plan import REPOSITORY, Plan, ReleaseError
from tests.controlplane.binaries import locate, locate_kubectl

ROOMS = ("framework", "operator", "plugins", "sandbox", "testing")
SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", *ROOMS)
DISTRIBUTION = "muster_scheduler"
_LEFTOVERS = shutil.ignore_patterns("__pycache__", "*.egg-info")
_IMAGE = re.compile(r"^(image:\n(?:  #.*\n)*  repository: )muster$", re.MULTILINE)


def build_distributions(plan: Plan) -> tuple[Path, Path]:
    """Write the sdist and the wheel; returns their paths."""
    with tempfile.TemporaryDirectory() as folder:
        source, unpacked = Path(folder, "source"), Path(folder, "unpacked")
        source.mkdir()
        for name in SOURCES:
            path = REPOSITORY / name
            if path.is_dir():
                shutil.copytree(path, source / name, ignore=_LEFTOVERS)
            else:
                shutil.copy(path, source / name)
        sdist = plan.output / _call_hook("build_sdist", source, plan.output)
        with tarfile.open(sdist) as archive:
            archive.extractall(unpacked, filter="data")
        wheel = plan.output / _call_hook("build_wheel", unpacked / f"{DISTRIBUTION}-{plan.version}", plan.output)
    return sdist, wheel


def build_chart(plan: Plan) -> Path:
    """Package the chart; returns the package's path."""
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
    """Write what `kubectl apply -k deploy` would apply, with the release's image; returns the file's path."""
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


def _call_hook(hook: str, source: Path, output: Path) -> str:
    """Call a hook of setuptools in a process of its own; returns the name of the file that it wrote."""
    program = f"import sys; from setuptools import build_meta; print(build_meta.{hook}(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(output.absolute())]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseError(f"setuptools could not {hook}:\n{done.stderr}")
    return done.stdout.splitlines()[-1]


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseError(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout
