"""The agreement of a release's files: all of them are there and whole, and name the same version.

Each file is opened as a user's tools would open it, and its version is read. A file that is missing, that names another
version or that lacks a part is a finding, and with any finding `make release` ends with an error.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

import yaml

from deploy.release.packages import DISTRIBUTION, ROOMS
from deploy.release.plan import PLACEHOLDER, REPOSITORY, Plan

CHECKSUMS = "SHA256SUMS"
"""The file with the digests of all others."""


def findings(plan: Plan) -> Iterator[str]:
    """A line for each problem with the files in the plan's folder."""
    for name, versions_of in expected(plan).items():
        path = plan.output / name
        if not path.is_file():
            yield f"{name} is missing"
            continue
        for where, version in versions_of(path):
            if version != plan.version:
                yield f"{name}: {where} is {version}, not {plan.version}"
    wheel = plan.output / f"{DISTRIBUTION}-{plan.version}-py3-none-any.whl"
    if wheel.is_file():
        yield from (f"{wheel.name} lacks {name}" for name in missing_from_the_wheel(wheel))
    yield from _wrong_checksums(plan)


def expected(plan: Plan) -> dict[str, Callable[[Path], list[tuple[str, str]]]]:
    """The files of a release, each with the reader of the versions that it names."""
    version = plan.version
    return {
        f"{DISTRIBUTION}-{version}.tar.gz": _of_the_sdist,
        f"{DISTRIBUTION}-{version}-py3-none-any.whl": _of_the_wheel,
        f"muster-{version}.tgz": _of_the_chart,
        "install.yaml": _of_the_manifest,
        f"kubectl-muster-{version}.tar.gz": _of_the_archive,
        "muster.krew.yaml": _of_the_plugin,
        f"muster-{version}.cdx.json": _of_the_bill,
        "notes.md": lambda path: [("the title", path.read_text().splitlines()[0].removeprefix("# Muster "))],
    }


def placeholders(plan: Plan) -> list[str]:
    """The files in which the owner's name or the image's registry is still to be filled in."""
    texts = {name: _text_of(plan.output / name) for name in expected(plan)}
    unnamed = {name for name, text in texts.items() if f"github.com/{PLACEHOLDER}/" in text}
    unpushed = {"install.yaml", f"muster-{plan.version}.tgz"} if "/" not in plan.image else set()
    return sorted(unnamed | unpushed)


def missing_from_the_wheel(wheel: Path) -> list[str]:
    """The files of the rooms that the wheel lacks under their import names."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    files = [path for room in ROOMS for path in (REPOSITORY / room).rglob("*") if path.is_file()]
    wanted = {f"muster/{path.relative_to(REPOSITORY).as_posix()}" for path in files if "__pycache__" not in path.parts}
    return sorted(wanted - held)


def write_checksums(plan: Plan) -> Path:
    """Writes SHA256SUMS for `sha256sum --check`; returns its path."""
    path = plan.output / CHECKSUMS
    names = sorted(each.name for each in plan.output.iterdir() if each.is_file() and each != path)
    path.write_text("".join(f"{_digest(plan.output / name)}  {name}\n" for name in names))
    return path


def _wrong_checksums(plan: Plan) -> Iterator[str]:
    path = plan.output / CHECKSUMS
    if not path.is_file():
        yield f"{path.name} is missing"
        return
    listed = {name: digest for digest, name in (line.split("  ") for line in path.read_text().splitlines())}
    for name in expected(plan):
        if (plan.output / name).is_file() and listed.get(name) != _digest(plan.output / name):
            yield f"{path.name} has another digest of {name}"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _of_the_sdist(path: Path) -> list[tuple[str, str]]:
    with tarfile.open(path) as archive:
        root = path.name.removesuffix(".tar.gz")
        return [("its Version", _header(_member(archive, f"{root}/PKG-INFO")))]


def _of_the_wheel(path: Path) -> list[tuple[str, str]]:
    with zipfile.ZipFile(path) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return [("its Version", _header(archive.read(metadata).decode()))]


def _of_the_chart(path: Path) -> list[tuple[str, str]]:
    with tarfile.open(path) as archive:
        chart = yaml.safe_load(_member(archive, "muster/Chart.yaml"))
    return [(field, chart[field]) for field in ("version", "appVersion")]


def _of_the_manifest(path: Path) -> list[tuple[str, str]]:
    manifests = [each for each in yaml.safe_load_all(path.read_text()) if each]
    [deployment] = [each for each in manifests if each["kind"] == "Deployment"]
    containers: list[dict[str, Any]] = deployment["spec"]["template"]["spec"]["containers"]
    labelled = [each["metadata"].get("labels", {}).get("app.kubernetes.io/version") for each in manifests]
    images = [("the image's tag", container["image"].rpartition(":")[2]) for container in containers]
    return [*images, *(("a label", version) for version in labelled if version is not None)]


def _of_the_archive(path: Path) -> list[tuple[str, str]]:
    with tarfile.open(path) as archive:
        launcher = _member(archive, "kubectl-muster")
        [wheel] = [name for name in archive.getnames() if name.endswith(".whl")]
    found = re.findall(rf"/muster/([^/\n]+)$|/{DISTRIBUTION}-([^-]+)-py3", launcher, re.MULTILINE)
    return [("the wheel's", wheel.split("-")[1]), *(("the launcher's", one or other) for one, other in found)]


def _of_the_plugin(path: Path) -> list[tuple[str, str]]:
    spec = yaml.safe_load(path.read_text())["spec"]
    version = spec["version"].removeprefix("v")
    archive = path.with_name(f"kubectl-muster-{version}.tar.gz")
    read = [("spec.version", version)]
    for platform in spec["platforms"]:
        right = platform["uri"].endswith(f"/v{version}/{archive.name}") and platform["sha256"] == _digest(archive)
        read.append(("the archive", version if right else f"not that of {platform['uri']}"))
    return read


def _of_the_bill(path: Path) -> list[tuple[str, str]]:
    return [("metadata.component", json.loads(path.read_text())["metadata"]["component"]["version"])]


def _header(metadata: str) -> str:
    return str(HeaderParser().parsestr(metadata)["Version"])


def _member(archive: tarfile.TarFile, name: str) -> str:
    file = archive.extractfile(name)
    assert file is not None
    return file.read().decode()


def _text_of(path: Path) -> str:
    """The text in which placeholders may stand: of the chart, that of Chart.yaml."""
    if path.suffix == ".tgz":
        with tarfile.open(path) as archive:
            return _member(archive, "muster/Chart.yaml")
    return path.read_text() if path.suffix in (".yaml", ".json", ".md") else ""
