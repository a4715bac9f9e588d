"""The sdist and the wheel, built by setuptools as a build frontend would: the wheel from what the sdist holds.

The build runs on a copy of what it needs, because setuptools leaves folders behind. It takes setuptools from the
interpreter that it runs in, so the version is the pinned one and nothing is downloaded.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from deploy.release.plan import REPOSITORY, Plan, ReleaseError

ROOMS = ("framework", "operator", "plugins", "sandbox", "testing")
SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", *ROOMS)
DISTRIBUTION = "muster_scheduler"
_LEFTOVERS = shutil.ignore_patterns("__pycache__", "*.egg-info")


def build_distributions(plan: Plan) -> tuple[Path, Path]:
    """Writes the sdist and the wheel; returns their paths."""
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


def _call_hook(hook: str, source: Path, output: Path) -> str:
    """Calls a hook of setuptools in a process of its own; returns the name of the file that it wrote."""
    program = f"import sys; from setuptools import build_meta; print(build_meta.{hook}(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(output.absolute())]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseError(f"setuptools could not {hook}:\n{done.stderr}")
    return done.stdout.splitlines()[-1]
