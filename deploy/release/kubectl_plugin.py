"""The kubectl plugin for krew: an archive, and the manifest that names the archive's address.

krew installs programs, and Muster's is Python. The archive therefore holds a launcher beside the wheel and the pinned
versions: at its first call the launcher installs them into an environment of its own, from the package index that pip
is configured with, and from then on it only starts the program.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import yaml

from deploy.release.plan import REPOSITORY, Plan

LAUNCHER = Path(__file__).with_name("kubectl-muster")
PLATFORMS = ("linux", "darwin")
DESCRIPTION = (
    "Says why a pod or a group of pods is not scheduled and what would help, tries manifests before they are applied, "
    "and shows the queue of the scheduler."
)
CAVEATS = "Needs Python 3.11 or newer. The first call installs the plugin's packages with pip; later ones start it."


def build_archive(plan: Plan, wheel: Path) -> Path:
    """Write the archive, with the same bytes for the same contents; returns its path."""
    launcher = LAUNCHER.read_text().replace("@VERSION@", plan.version).replace("@WHEEL@", wheel.name)
    contents = {
        "LICENSE": (REPOSITORY / "LICENSE").read_bytes(),
        "constraints.txt": (REPOSITORY / "constraints.txt").read_bytes(),
        "kubectl-muster": launcher.encode(),
        wheel.name: wheel.read_bytes(),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o755 if name == LAUNCHER.name else 0o644
            archive.addfile(member, io.BytesIO(content))
    path = plan.output / f"kubectl-muster-{plan.version}.tar.gz"
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return path


def build_plugin_manifest(plan: Plan, archive: Path) -> Path:
    """Write krew's manifest of the plugin; returns its path."""
    platform = {
        "selector": {"matchExpressions": [{"key": "os", "operator": "In", "values": [*PLATFORMS]}]},
        "uri": plan.download(archive.name),
        "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
        "bin": LAUNCHER.name,
    }
    manifest = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "muster"},
        "spec": {
            "version": plan.tag,
            "homepage": plan.home,
            "shortDescription": "Ask the Muster scheduler why pods and gangs wait",
            "description": DESCRIPTION,
            "caveats": CAVEATS,
            "platforms": [platform],
        },
    }
    path = plan.output / "muster.krew.yaml"
    path.write_text(yaml.safe_dump(manifest, sort_keys=False, width=120))
    return path
