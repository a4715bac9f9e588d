"""One replica of the release: the real program, started with the arguments of the release's own Deployment."""

import base64
import json
import re
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.controlplane.api import Api
from tests.controlplane.guard import Guard
from tests.controlplane.plane import ControlPlane
from tests.controlplane.ports import free_port
from tests.controlplane.users import User, write_kubeconfig
from tests.deploy.helm import NAMESPACE, RELEASE
from tests.e2e.eventually import eventually

ENDS_WITHIN_SECONDS = 30


@dataclass(frozen=True)
class Mounts:
    """What a kubelet would put into the container: the files of its volumes, and the ServiceAccount's token.

    Attributes:
        folder: an empty folder, which is also the process's home.
        kubeconfig: logs in with the token.
        arguments: the container's, with the paths that hold here.
    """

    folder: Path
    kubeconfig: Path
    arguments: tuple[str, ...]


def service_account_token(api: Api, name: str, namespace: str = NAMESPACE) -> str:
    """A token that the API server makes for a ServiceAccount, as it does for a kubelet."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    token: str = api.post(path, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
    return token


def mount(plane: ControlPlane, api: Api, folder: Path) -> Mounts:
    """Makes the files of a replica of the installed release."""
    deployment = api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{RELEASE}")
    spec = deployment["spec"]["template"]["spec"]
    [container] = spec["containers"]
    places = {}
    for volume in spec["volumes"]:
        place = places[volume["name"]] = folder / volume["name"]
        place.mkdir()
        for name, content in _contents(api, volume).items():
            (place / name).write_bytes(content)
    paths = {f"={each['mountPath']}/": f"={places[each['name']]}/" for each in container["volumeMounts"]}
    inside = re.compile("|".join(map(re.escape, paths)))
    arguments = tuple(inside.sub(lambda found: paths[found[0]], each) for each in container["args"])
    return Mounts(folder, log_in(plane, api, folder, spec["serviceAccountName"]), arguments)


def log_in(plane: ControlPlane, api: Api, folder: Path, name: str) -> Path:
    """A kubeconfig in `folder` with the token of a ServiceAccount of the release's namespace."""
    kubeconfig = folder / "kubeconfig"
    user = User("service-account", token=service_account_token(api, name))
    write_kubeconfig(kubeconfig, server=plane.url, ca_file=plane.ca_file, user=user)
    return kubeconfig


def _contents(api: Api, volume: Mapping[str, Any]) -> Mapping[str, bytes]:
    """The files of a volume."""
    namespaced = f"/api/v1/namespaces/{NAMESPACE}"
    if "configMap" in volume:
        texts = api.get(f"{namespaced}/configmaps/{volume['configMap']['name']}")["data"]
        return {name: text.encode() for name, text in texts.items()}
    if "secret" in volume:
        encoded = api.get(f"{namespaced}/secrets/{volume['secret']['secretName']}")["data"]
        return {name: base64.b64decode(text) for name, text in encoded.items()}
    return {}


class Replica:
    """Runs from the moment it is made until `stop`, or until this process ends."""

    def __init__(self, muster: Path, mounts: Mounts, *arguments: str) -> None:
        """`arguments` are added to the container's, of which they override those of the same name."""
        self._port = free_port()
        self._log = mounts.folder / "muster.log"
        here = (f"--kubeconfig={mounts.kubeconfig}", "--bind-address=127.0.0.1", f"--secure-port={self._port}")
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(mounts.folder), "TMPDIR": str(mounts.folder)}
        self._guard = Guard()
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                [muster, *mounts.arguments, *here, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd=mounts.folder,
                env=environment,
            )
        self._guard.watch(self._process.pid)

    def wait_until_ready(self) -> None:
        """Returns when its probes say that it schedules."""
        eventually(lambda: self._runs() and self.page("/readyz") == (200, "ok"))

    def page(self, path: str, token: str = "") -> tuple[int, str]:
        """Status and text of a page, asked for over TLS as a scraper does; status 0 while nobody answers."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"https://127.0.0.1:{self._port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10, context=_trusting()) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def complaints(self) -> list[dict[str, Any]]:
        """The lines of its log that are warnings or worse."""
        lines = [json.loads(line) for line in self._log.read_text().splitlines()]
        return [line for line in lines if line["level"] not in ("debug", "info")]

    def stop(self) -> int:
        """Ends it as a kubelet does; returns the exit code."""
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(ENDS_WITHIN_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
            self._guard.close()

    def _runs(self) -> bool:
        code = self._process.poll()
        assert code is None, f"muster ended with exit code {code}\n{self._log.read_text()}"
        return True


def _trusting() -> ssl.SSLContext:
    """Replicas sign their own certificates."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
