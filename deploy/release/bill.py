"""The bill of materials: every package that an installation of the wheel consists of, in CycloneDX's format.

The packages are the project's dependencies and theirs, followed through the metadata of the installed packages. Their
versions are those of constraints.txt, with which the image is built and everything is tested; a package that is
installed in another version is an error. The document has the same bytes for the same packages.

`python -m deploy.release.bill FILE` validates a bill against CycloneDX's own schema. It runs as a process of its own,
because the validator belongs to the extra `release`, which tests do not install.
"""

from __future__ import annotations

import json
import sys
import tomllib
import uuid
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.release.plan import REPOSITORY, Plan, ReleaseError

FORMAT = "1.6"
_LONGEST_LICENSE = 60


def build_bill(plan: Plan) -> Path:
    """Write the bill; returns its path."""
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    needs = closure(project["dependencies"])
    root = {**_component(project["name"], plan.version), "type": "application", "description": project["description"]}
    root["licenses"] = [{"expression": project["license"]}]
    components = [_described(name, _installed(name)) for name in sorted(needs)]
    direct = [canonicalize_name(Requirement(text).name) for text in project["dependencies"]]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": FORMAT,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([root, components]))}",
        "version": 1,
        "metadata": {"component": root},
        "components": components,
        "dependencies": [
            {"ref": root["bom-ref"], "dependsOn": _references(direct)},
            *({"ref": _reference(name), "dependsOn": _references(needs[name])} for name in sorted(needs)),
        ],
    }
    path = plan.output / f"muster-{plan.version}.cdx.json"
    path.write_text(json.dumps(document, indent=2) + "\n")
    return path


def validate(path: Path) -> int:
    """Validate a bill, and print the result; returns the exit code, 0 if the bill is valid."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    fault = JsonStrictValidator(SchemaVersion.from_version(FORMAT)).validate_str(path.read_text())
    print(f"{path.name}: {fault or 'valid'}")
    return 1 if fault else 0


def closure(requirements: Iterable[str]) -> Mapping[str, set[str]]:
    """All packages that the requirements need on this platform, each with the packages that it needs itself."""
    needs: dict[str, set[str]] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        found = needs.setdefault(name, set())
        for extra in ("", *requirement.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for text in _installed(name).requires or ():
                needed = Requirement(text)
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    found.add(canonicalize_name(needed.name))
                    waiting.append(needed)
    return needs


@cache
def pinned_versions() -> Mapping[str, str]:
    """The version of each package in constraints.txt."""
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    pins = (line.partition("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, _, version in pins}


def _installed(name: str) -> Distribution:
    pinned = pinned_versions().get(canonicalize_name(name))
    try:
        found = distribution(name)
    except PackageNotFoundError:
        raise ReleaseError(f"{name} is not installed: run `make venv`") from None
    if found.version != pinned:
        raise ReleaseError(f"{name} {found.version} is installed, constraints.txt has {pinned}: run `make venv`")
    return found


def _described(name: str, package: Distribution) -> dict[str, Any]:
    component = _component(name, package.version)
    about = package.metadata.json
    if summary := about.get("summary"):
        component["description"] = summary
    if expression := about.get("license_expression"):
        component["licenses"] = [{"expression": expression}]
    elif (named := about.get("license")) and len(named) <= _LONGEST_LICENSE:
        component["licenses"] = [{"license": {"name": named}}]
    return component


def _component(name: str, version: str) -> dict[str, Any]:
    reference = f"pkg:pypi/{canonicalize_name(name)}@{version}"
    return {"type": "library", "bom-ref": reference, "name": name, "version": version, "purl": reference}


def _reference(name: str) -> str:
    return f"pkg:pypi/{name}@{pinned_versions()[name]}"


def _references(names: Iterable[str]) -> list[str]:
    return sorted(map(_reference, names))


if __name__ == "__main__":
    sys.exit(validate(Path(sys.argv[1])))
