"""Muster as the image holds it: built from what the Dockerfile copies, installed where the repository is out of reach.

There is no container engine where tests run, so its steps are done by hand. What the image fetches, the versions in
constraints.txt, is taken from the tests' own environment, where the same versions are installed.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from tests.deploy.helm import REPOSITORY

DOCKERFILE = REPOSITORY / "Dockerfile"
_CACHES = shutil.ignore_patterns("__pycache__", "*.egg-info")


class Image:
    """An installed Muster in `folder`.

    Attributes:
        muster: the program.
    """

    def __init__(self, folder: Path) -> None:
        source, wheels, root = folder / "source", folder / "wheels", folder / "root"
        copy_sources(source)
        _run(*_PIP, "wheel", *_OFFLINE, "--no-build-isolation", f"--wheel-dir={wheels}", str(source))
        _run(sys.executable, "-m", "venv", "--without-pip", str(root))
        self._share_dependencies(root)
        [wheel] = wheels.glob("*.whl")
        _run(*_PIP, f"--python={root / 'bin' / 'python'}", "install", *_OFFLINE, str(wheel))
        self.muster = root / "bin" / "muster"

    @staticmethod
    def _share_dependencies(root: Path) -> None:
        """A path file in a path file's folder is not read, so the tests' editable Muster stays out."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = root / "lib" / version / "site-packages"
        (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))


def copied() -> Sequence[str]:
    """What the Dockerfile copies out of the repository, by name."""
    lines = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE.read_text(), re.MULTILINE)
    return [name for line in lines for name in line.split()[:-1]]


def copy_sources(target: Path) -> None:
    """Copies what the Dockerfile copies, as far as .dockerignore lets it through."""
    allowed = set(re.findall(r"^!(.+)$", (REPOSITORY / ".dockerignore").read_text(), re.MULTILINE))
    target.mkdir()
    for name in copied():
        assert name in allowed, f".dockerignore keeps {name} from the image"
        path = REPOSITORY / name
        if path.is_dir():
            shutil.copytree(path, target / name, ignore=_CACHES)
        else:
            shutil.copy(path, target / name)


_PIP = (sys.executable, "-m", "pip")
_OFFLINE = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
