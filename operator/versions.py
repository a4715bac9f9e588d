"""The version of Muster, for the first line of the log, /statusz and `kubernetes_build_info`."""

from __future__ import annotations

import platform
from importlib.metadata import version

KUBERNETES = "1.37"
"""The release of kube-scheduler whose decisions these are."""


def own() -> str:
    """Muster's version, as a Kubernetes component writes it."""
    return f"v{version('muster-scheduler')}"


def python() -> str:
    """Python's version."""
    return platform.python_version()


def build() -> dict[str, str]:
    """The labels of `kubernetes_build_info` for this program; labels without a meaning for it are empty."""
    major, minor, *_ = version("muster-scheduler").split(".")
    return {
        "major": major,
        "minor": minor,
        "git_version": own(),
        "git_commit": "",
        "git_tree_state": "",
        "build_date": "",
        "go_version": f"python{python()}",
        "compiler": platform.python_implementation(),
        "platform": _platform(),
    }


def versions() -> dict[str, str]:
    """The versions for the first line of the log."""
    return {
        "version": own(),
        "decidesAs": f"kube-scheduler {KUBERNETES}",
        "python": python(),
        "platform": _platform(),
    }


def _platform() -> str:
    return f"{platform.system().lower()}/{platform.machine()}"
