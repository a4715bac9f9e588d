"""Installs the package of example plugins into a folder of its own, as pip does with any package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "example_plugin"


def install_example_plugins(folder: Path) -> dict[str, str]:
    """The environment of a process that finds the plugins, which lie in `folder` then. Nothing is downloaded."""
    copy = shutil.copytree(SOURCE, folder / "source")  # building leaves files beside the source
    installed = folder / "installed"
    options = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(installed), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {**os.environ, "PYTHONPATH": str(installed)}
