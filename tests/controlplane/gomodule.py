"""Writes the Go module that a control-plane program is built in, and finds what else a program's module holds.

Each program is built as a dependency of a throwaway module, so that Go's own client resolves, fetches and verifies the
sources and nothing else is downloaded. Kubernetes needs one thing more: its go.mod points at staging folders that its
published module leaves out, and each has to be replaced by the module of the same name and matching version.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.controlplane.binaries import KUBERNETES_MODULE, Binary

NEAREST = {f"k8s.io/{name} v0.38.0-alpha.0": "v0.37.1" for name in ("cli-runtime", "cri-streaming", "kube-proxy")}
"""Versions of staging modules that the module proxy does not have, and the nearest one, which takes their place.

None of them holds what decides, stores or serves an object that tests look at.
"""


def write(folder: Path, binaries: Iterable[Binary]) -> None:
    """Writes `folder/go.mod` with what `binaries`, all of one Go module and version, are built from, and their sources.

    Raises `subprocess.CalledProcessError` where Go cannot fetch the module's own go.mod.
    """
    tools = list(binaries)
    module, version = tools[0].module, tools[0].version
    upstream = _published_go_mod(module, version)
    lines = [
        "module build.muster",
        f"go {upstream['Go']}",
        f"require {module} v{version}",
        *(f"tool {binary.package}" for binary in tools if binary.source is None),
    ]
    if module == KUBERNETES_MODULE:
        lines += [f"replace {name} => {name} {_staging_version(name, version)}" for name in _staging_modules(upstream)]
    (folder / "go.mod").write_text("\n".join(lines) + "\n")
    for binary in tools:
        if binary.source is not None:
            (folder / binary.package).mkdir()
            shutil.copy(binary.source, folder / binary.package / "main.go")


def sources(binary: Binary) -> Path:
    """The folder with the sources of the program's module, which Go keeps in its cache and fetches where it is absent.

    Raises `subprocess.CalledProcessError` where Go cannot fetch them.
    """
    return Path(_go_json("mod", "download", "-json", f"{binary.module}@v{binary.version}")["Dir"])


def linker_flags(binary: Binary) -> str:
    """The linker flags of a release build: no debug tables, and the version that the program reports."""
    return " ".join(["-s", "-w", *(f"-X {variable}={value}" for variable, value in _version_variables(binary))])


def _version_variables(binary: Binary) -> list[tuple[str, str]]:
    """The variables that hold the version in programs that do not have it in their source."""
    if binary.module == KUBERNETES_MODULE:
        major, minor, *_ = binary.version.split(".")
        values = {"gitVersion": f"v{binary.version}", "gitMajor": major, "gitMinor": minor}
        return [(f"k8s.io/component-base/version.{name}", value) for name, value in values.items()]
    if binary.name == "helm":
        return [(f"{binary.module}/internal/version.version", f"v{binary.version}")]
    return []


def fetched(module: str, version: str) -> Path:
    """The folder with the source of a module, in Go's cache of modules, where Go puts it if it is not there yet.

    Raises `subprocess.CalledProcessError` where Go cannot fetch it.
    """
    return Path(_go_json("mod", "download", "-json", f"{module}@v{version}")["Dir"])


def _published_go_mod(module: str, version: str) -> dict[str, Any]:
    """The published go.mod of a module, as `go mod edit -json` describes it."""
    download = _go_json("mod", "download", "-json", f"{module}@v{version}")
    return _go_json("mod", "edit", "-json", download["GoMod"])


def _go_json(*arguments: str) -> dict[str, Any]:
    answer = subprocess.run(["go", *arguments], check=True, stdout=subprocess.PIPE)
    described: dict[str, Any] = json.loads(answer.stdout)
    return described


def _staging_modules(go_mod: dict[str, Any]) -> list[str]:
    """The modules that go.mod replaces by folders of its own repository."""
    return [entry["Old"]["Path"] for entry in go_mod["Replace"] if entry["New"]["Path"].startswith("./")]


def _staging_version(name: str, version: str) -> str:
    """Kubernetes 1.X.Y publishes its staging modules as v0.X.Y."""
    published = "v0." + version.partition(".")[2]
    return NEAREST.get(f"{name} {published}", published)
