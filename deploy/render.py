"""Renders the manifests in this folder from the chart, which is their only source: `python -m deploy.render`.

Run this after a change of the chart, or of the definitions in `crds/`, which the chart contains as copies; a test fails
otherwise. Helm is the version that the tests build (`make control-plane`), so the output is the same everywhere.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.controlplane.binaries import MissingBinaryError, locate

HERE = Path(__file__).parent
CHART = HERE.parent / "charts" / "muster"
NAME, NAMESPACE = "muster", "muster-system"
_HELMS_OWN = ("# Source: ", "app.kubernetes.io/managed-by: Helm", "helm.sh/chart: ")


def rendered(helm: Path) -> Mapping[Path, str]:
    """What each file should hold, by its path: the manifests, and the chart's copies of the definitions.

    Raises `subprocess.CalledProcessError` where the chart cannot be rendered.
    """
    definitions = sorted((HERE / "crds").glob("*.yaml"))
    with tempfile.TemporaryDirectory() as folder:
        command = [str(helm), "template", NAME, str(CHART), "--namespace", NAMESPACE, "--output-dir", folder]
        subprocess.run([*command, "--set", "crds.install=false"], check=True, capture_output=True, text=True)
        templates = sorted(Path(folder, "muster", "templates").glob("*.yaml"))
        manifests = {HERE / "manifests" / path.name: _without_helm(path.read_text()) for path in templates}
    return manifests | {CHART / "files" / "crds" / path.name: path.read_text() for path in definitions}


def stale(wanted: Mapping[Path, str]) -> list[Path]:
    """The files that are not what they should be, and those that should not be there."""
    present = {*(HERE / "manifests").glob("*"), *(CHART / "files" / "crds").glob("*")}
    differing = {path for path, text in wanted.items() if path not in present or path.read_text() != text}
    return sorted(differing | (present - wanted.keys()))


def write(helm: Path) -> list[Path]:
    """Brings all files up to date; returns those that were not."""
    wanted = rendered(helm)
    outdated = stale(wanted)
    for path in outdated:
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path])
        else:
            path.unlink()
    return outdated


def _without_helm(text: str) -> str:
    """A template's output without what says that Helm installed it."""
    lines = [line for line in text.splitlines() if not line.strip().startswith(_HELMS_OWN)]
    return "\n".join(line for line in lines if line).removeprefix("---\n") + "\n"


def main() -> int:
    """Writes the files and names those that changed."""
    try:
        changed = write(locate("helm"))
    except MissingBinaryError as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(error.stderr, file=sys.stderr)
        return 1
    for path in changed:
        print(path.relative_to(HERE.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
