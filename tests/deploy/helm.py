"""Helm, as the tests run it: with a home of its own, on this repository's chart."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.binaries import locate

REPOSITORY = Path(__file__).parents[2]
CHART = REPOSITORY / "charts" / "muster"
RELEASE, NAMESPACE = "muster", "muster-system"

Manifest = dict[str, Any]


class HelmError(RuntimeError):
    """Helm refused; the text is what it said."""


class Helm:
    """Runs Helm; `kubeconfig` is for the commands that need a cluster. What was rendered once is kept as text."""

    def __init__(self, home: Path, kubeconfig: Path | None = None) -> None:
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(kubeconfig or os.devnull)}
        self._texts: dict[str, str] = {}

    def template(
        self, values: Mapping[str, Any] = {}, *, release: str = RELEASE, namespace: str = NAMESPACE
    ) -> list[Manifest]:
        """What the chart installs with these values."""
        return self._rendered(release, f"--namespace={namespace}", "--skip-tests", values=values)

    def hooks(self, values: Mapping[str, Any] = {}) -> list[Manifest]:
        """What `helm test` makes for a release with these values."""
        rendered = self._rendered(RELEASE, *_WHERE, values=values)
        return [each for each in rendered if "helm.sh/hook" in each["metadata"].get("annotations", {})]

    def notes(self, values: Mapping[str, Any] = {}) -> str:
        """The notes that a user with these values reads."""
        return self._run("install", RELEASE, str(CHART), *_WHERE, "--dry-run=client", values=values)

    def lint(self, values: Mapping[str, Any] = {}) -> str:
        """What Helm has to say of the chart; raises where it finds a fault or gives a warning."""
        return self._run("lint", "--strict", str(CHART), values=values)

    def install(self, values: Mapping[str, Any] = {}, *options: str) -> str:
        """Installs the release, which must not be there; returns its notes with what precedes them."""
        return self._run("install", RELEASE, str(CHART), *_WHERE, "--create-namespace", *options, values=values)

    def upgrade(self, values: Mapping[str, Any] = {}, *options: str) -> str:
        """Changes the release that is there."""
        return self._run("upgrade", RELEASE, str(CHART), *_WHERE, *options, values=values)

    def test(self) -> str:
        """Runs the tests of the release that is there; returns what Helm says of them."""
        return self._run("test", RELEASE, *_WHERE, "--timeout=120s")

    def uninstall(self) -> str:
        """Removes the release, if it is there."""
        return self._run("uninstall", RELEASE, *_WHERE, "--ignore-not-found")

    def _rendered(self, *arguments: str, values: Mapping[str, Any]) -> list[Manifest]:
        asked = json.dumps([arguments, values])
        if asked not in self._texts:
            self._texts[asked] = self._run("template", *arguments[:1], str(CHART), *arguments[1:], values=values)
        return [manifest for manifest in yaml.load_all(self._texts[asked], yaml.CSafeLoader) if manifest]

    def _run(self, *arguments: str, values: Mapping[str, Any] | None = None) -> str:
        given = [] if values is None else ["--values=-"]
        done = subprocess.run(
            [str(locate("helm")), *arguments, *given],
            input=json.dumps(values or {}),
            env=self._environment,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise HelmError(done.stderr.strip())
        return done.stdout


_WHERE = (f"--namespace={NAMESPACE}",)


def name_of(manifest: Manifest) -> str:
    """`Kind/name`."""
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


def pick(manifests: list[Manifest], name: str) -> Manifest:
    """The one manifest of this `Kind/name`."""
    [found] = [manifest for manifest in manifests if name_of(manifest) == name]
    return found
