"""Commands, Muster's and kubectl's, as people call them."""

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from muster.operator.cli import main

MUSTER = Path(sys.executable).with_name("muster")


def kubectl(kubeconfig: Path, *words: str) -> None:
    """Run kubectl on it."""
    subprocess.run(["kubectl", "--kubeconfig", str(kubeconfig), *words], check=True, stdout=subprocess.DEVNULL)


def ask(*words: str) -> Result:
    """Run a command of Muster's."""
    return CliRunner().invoke(main, list(words), catch_exceptions=False)
