"""By what questions are decided: a file, the configuration of the leader, or Muster's default with a caution."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from muster.framework.config import load
from muster.plugins.coscheduling.definition import definition
from muster.sandbox import NodeShape, Sandbox
from tests.builders import make_pod
from tests.controlplane.ports import free_port
from tests.sandboxes import served
from tests.simulate.rehearsing import member, pod_group

from .asking import BY_DEFAULT, ask

CAUTION = BY_DEFAULT.partition(": give")[0]
LENIENT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: muster
  plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}
"""


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    sandbox = Sandbox([definition()], stand_ins=False)
    sandbox.nodes(1, shape=NodeShape(cpu="1"))
    pods = [make_pod("large").requests(cpu="8"), member("m-0", "gang").requests(cpu="8"), make_pod("gated").gate("a/b")]
    with served(sandbox, [pod_group("gang", 1), *pods], tmp_path_factory.mktemp("rules")) as kubeconfig:
        yield kubeconfig


@contextmanager
def leader(status: int, body: object) -> Iterator[str]:
    """Where a leader serves that answers so at /configz, and nothing else."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/configz"
            text = json.dumps(body if found else {}).encode()
            self.send_response(status if found else 404)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def configz(text: str) -> dict[str, Any]:
    """The page of a process that runs with this configuration."""
    return {"kubescheduler.config.k8s.io": load(text, "test").model_dump(mode="json", by_alias=True)}


@pytest.fixture(params=["why large", "explain large", "why pg/gang", "simulate"])
def words(request: pytest.FixtureRequest, kubeconfig: Path, tmp_path: Path) -> list[str]:
    """A question that is decided."""
    words = str(request.param).split()
    if words == ["simulate"]:
        manifest = tmp_path / "pod.json"
        manifest.write_text(json.dumps(make_pod("new").requests(cpu="8")))
        words += ["-f", str(manifest)]
    return [*words, "-o", "json", "--kubeconfig", str(kubeconfig)]


def fits(shown: str) -> bool:
    """Whether what was asked about would be placed, which only the configuration without NodeResourcesFit does."""
    answer = json.loads(shown)
    if "fits" in answer:
        return bool(answer["fits"])
    return bool(answer["feasible"]) if "feasible" in answer else not answer["now"]["reason"]


def test_the_default_is_used_with_a_caution(words: list[str]) -> None:
    shown = ask(*words)
    assert (fits(shown.stdout), shown.stderr.endswith(BY_DEFAULT)) == (False, True)


@pytest.mark.parametrize("how", ["option", "environment"])
def test_users_whose_scheduler_has_the_default_profile_say_so_and_are_not_warned(
    words: list[str], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "environment":
        monkeypatch.setenv("MUSTER_CONFIG", "default")
    shown = ask(*words, *(["--config", "default"] if how == "option" else []))
    assert (fits(shown.stdout), shown.stderr) == (False, "")


def test_a_file_is_used_without(words: list[str], tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(LENIENT)
    shown = ask(*words, "--config", str(config), "--muster-url", f"http://127.0.0.1:{free_port()}")
    assert (fits(shown.stdout), CAUTION in shown.stderr) == (True, False)


def test_the_leader_is_asked_for_its_configuration(words: list[str]) -> None:
    with leader(200, configz(LENIENT)) as url:
        shown = ask(*words, "--muster-url", url)
    assert (fits(shown.stdout), CAUTION in shown.stderr) == (True, False)


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (403, {"kind": "Status", "message": 'cannot get path "/configz"'}, 'cannot get path "/configz"'),
        (200, {"some": "page"}, "/configz is not Muster's"),
        (200, configz(LENIENT.replace("disabled", "enabled").replace("NodeResourcesFit", "Own")), "Own"),
    ],
    ids=["refused", "something else", "a plugin that is not here"],
)
def test_a_leader_whose_configuration_cannot_be_used_is_a_caution(
    kubeconfig: Path, status: int, body: object, reason: str
) -> None:
    with leader(status, body) as url:
        shown = ask("why", "large", "--kubeconfig", str(kubeconfig), "--muster-url", url)
    assert shown.exit_code == 0
    assert shown.stderr.startswith(f"{CAUTION}; the leader's cannot be used: ")
    assert reason in shown.stderr


@pytest.mark.parametrize("url", ["http://[", "nonsense", "ftp://muster", "https://", "http://muster:99999"])
def test_an_address_of_the_leader_that_is_no_url_is_bad_input(words: list[str], url: str) -> None:
    shown = ask(*words, "--muster-url", url)
    assert (shown.exit_code, "--muster-url: not an http or https URL" in shown.stderr) == (2, True)


@pytest.mark.parametrize("name", [["why", ""], ["why", "/"], ["why", "pod/"], ["why", "pg", ""], ["explain", ""]])
def test_a_name_without_letters_is_bad_input(kubeconfig: Path, name: list[str]) -> None:
    shown = ask(*name, "--kubeconfig", str(kubeconfig))
    assert (shown.exit_code, "Error: give " in shown.stderr) == (2, True)


@pytest.mark.parametrize("command", [["why", "pod"], ["explain"], ["why", "pg"]])
def test_a_name_that_no_object_can_have_is_not_found(kubeconfig: Path, command: list[str]) -> None:
    shown = ask(*command, "a b?ü", "--kubeconfig", str(kubeconfig))
    assert (shown.exit_code, 'a b?ü" not found' in shown.stderr) == (1, True)


def test_a_pod_that_is_not_decided_about_needs_no_caution(kubeconfig: Path) -> None:
    assert ask("why", "gated", "--kubeconfig", str(kubeconfig)).stderr == ""
