"""The builder of the control plane's programs, with a stand-in for Go that answers at once."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.controlplane import binaries
from tests.controlplane.binaries import BINARIES, MissingBinaryError
from tests.controlplane.build import BuildError, build, main

# Answers as Go does for the three things the builder asks of it, and keeps the go.mod that it was given.
GO = """#!/bin/sh
case "$1 $2" in
"mod download") echo '{"GoMod": "upstream.mod"}' ;;
"mod edit") echo '{"Go": "1.26.0", "Replace": [
    {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
    {"Old": {"Path": "k8s.io/kube-proxy"}, "New": {"Path": "./staging/src/k8s.io/kube-proxy"}},
    {"Old": {"Path": "example.org/fork"}, "New": {"Path": "example.org/other"}}]}' ;;
"build "*)
    echo "$*" >> "$RECORD/built"
    cp go.mod "$RECORD/go.mod"
    cp suite/main.go "$RECORD/main.go" 2>/dev/null
    while [ "$1" != -o ]; do shift; done
    echo "built from $3" > "$2"
    exit "${BUILD_EXIT:-0}" ;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with the stand-in for Go and an empty cache; returns the folder that both are in."""
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")
    monkeypatch.setenv("RECORD", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return tmp_path


def cached(machine: Path, version: str = "1.37.1") -> set[str]:
    return {path.name for path in (machine / "cache" / "muster" / "controlplane" / version).iterdir()}


def test_a_missing_program_is_built_once(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    build(["helm"])
    build(["helm"])

    assert binaries.locate("helm").read_text() == "built from helm.sh/helm/v4/cmd/helm\n"
    said = capfd.readouterr().err
    assert said.count("building helm 4.3.1") == 1
    assert said.count("built helm 4.3.1 in 0 s") == 1


@pytest.mark.usefixtures("machine")
def test_a_program_of_another_version_is_built_anew() -> None:
    build(["etcd"])
    binaries.version_stamp(BINARIES["etcd"]).write_text("3.5.0")
    with pytest.raises(MissingBinaryError, match=r"etcd 3\.6\.16 is not built"):
        binaries.locate("etcd")

    build(["etcd"])

    assert binaries.locate("etcd").is_file()


def test_the_module_of_kubernetes_replaces_each_staging_folder(machine: Path) -> None:
    build(["kube-apiserver", "kube-scheduler"])

    assert (machine / "go.mod").read_text().splitlines() == [
        "module build.muster",
        "go 1.26.0",
        "require k8s.io/kubernetes v1.37.1",
        "tool k8s.io/kubernetes/cmd/kube-apiserver",
        "tool k8s.io/kubernetes/cmd/kube-scheduler",
        "replace k8s.io/api => k8s.io/api v0.37.1",
        "replace k8s.io/kube-proxy => k8s.io/kube-proxy v0.37.1",
    ]


def test_another_version_of_kubernetes_is_built_beside_the_default_one_and_shares_other_programs(machine: Path) -> None:
    build(["kube-apiserver", "etcd"])
    command = [sys.executable, "-m", "tests.controlplane.build", "etcd", "kube-apiserver"]

    subprocess.run(command, env=os.environ | {"KUBERNETES": "1.38.0-alpha.0"}, check=True)

    assert cached(machine) == {".lock", "etcd", ".etcd.version", "kube-apiserver", ".kube-apiserver.version"}
    assert cached(machine, "1.38.0-alpha.0") == {".lock", "kube-apiserver", ".kube-apiserver.version"}
    assert (machine / "go.mod").read_text().splitlines() == [
        "module build.muster",
        "go 1.26.0",
        "require k8s.io/kubernetes v1.38.0-alpha.0",
        "tool k8s.io/kubernetes/cmd/kube-apiserver",
        "replace k8s.io/api => k8s.io/api v0.38.0-alpha.0",
        "replace k8s.io/kube-proxy => k8s.io/kube-proxy v0.37.1",
    ]
    variables = [f"-X k8s.io/component-base/version.{name}" for name in ("gitVersion=v1.38.0-alpha.0", "gitMinor=38")]
    assert all(variable in (machine / "built").read_text().splitlines()[-1] for variable in variables)


def test_a_program_of_our_own_source_is_built_within_the_module_and_anew_when_the_source_changes(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = machine / "suite.go"
    source.write_text("package main")
    tests = replace(binaries.E2E_TESTS, source=source)
    monkeypatch.setitem(BINARIES, tests.name, tests)

    build([tests.name])

    assert binaries.locate(tests.name).read_text() == "built from ./suite\n"
    assert (machine / "main.go").read_text() == "package main"
    assert "tool" not in (machine / "go.mod").read_text()
    source.write_text("package main // changed")
    with pytest.raises(MissingBinaryError, match=r"e2e-tests 1\.37\.1 is not built"):
        binaries.locate(tests.name)


def test_the_end_to_end_tests_are_built_only_when_they_are_named(machine: Path) -> None:
    assert main([]) == 0

    assert {"kube-apiserver", "kube-scheduler", "helm"} <= cached(machine)
    assert "e2e-tests" not in cached(machine)


def test_a_failed_build_says_why_and_leaves_nothing_half_done(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILD_EXIT", "1")

    with pytest.raises(BuildError, match=r"go could not build etcd 3\.6\.16"):
        build(["etcd"])

    assert cached(machine) == {".lock"}


def test_the_folder_of_a_killed_build_is_cleared_away(machine: Path) -> None:
    (binaries.cache_folder(BINARIES["etcd"]) / ".build-killed").mkdir(parents=True)

    build(["etcd"])

    assert cached(machine) == {".lock", "etcd", ".etcd.version"}


def test_without_go_the_builder_says_what_it_is_needed_for(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (machine / "bin" / "go").unlink()

    assert main(["etcd", "helm"]) == 1

    assert "go is not on the PATH: it is needed once, to build etcd, helm" in capfd.readouterr().err


def test_an_unknown_program_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["kube-proxy"]) == 2
    assert "no such program: kube-proxy" in capfd.readouterr().err


def test_programs_in_kubebuilder_assets_are_used_and_not_built(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assets = machine / "assets"
    assets.mkdir()
    (assets / "etcd").write_text("the machine's own")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    build(["etcd"])

    assert binaries.locate("etcd") == assets / "etcd"
    assert not (machine / "cache").exists()
