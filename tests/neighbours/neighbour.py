"""Starts a program of another project on a control plane, with the definitions and webhooks that belong to it.

The tests of this folder call it. Program and manifests come from the same version of the project's Go module: the
program from the cache of `tests.controlplane.build`, the manifests from Go's module cache, so that this repository has
no copy of either. Each program logs in as an administrator; its rights are its own project's matter.
"""

import http.client
import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane import gomodule
from tests.controlplane.api import Api
from tests.controlplane.binaries import BINARIES, locate
from tests.controlplane.commands import HOST
from tests.controlplane.plane import ControlPlane
from tests.controlplane.ports import free_port
from tests.e2e.eventually import eventually
from tests.neighbours import webhooks

_ANSWERS_WITHIN_SECONDS = 10


class Neighbour:
    """One program, a key of `BINARIES`, beside a control plane.

    Attributes:
        health_port: where its health pages are to be.
        webhook_port: where its webhooks are to be.
    """

    def __init__(self, name: str, plane: ControlPlane, *, health_port: int | None = None) -> None:
        self.health_port, self.webhook_port = health_port or free_port(), free_port()
        self._name = name
        self._plane = plane
        self._sources = gomodule.sources(BINARIES[name])

    @property
    def certificates(self) -> Path:
        """A folder with the certificate of the API server, which is good for any server on this address."""
        folder = self._plane.files.folder / f"{self._name}-certificates"
        folder.mkdir(exist_ok=True)
        for kind in ("crt", "key"):
            shutil.copy(self._plane.files.certificates / f"apiserver.{kind}", folder / f"tls.{kind}")
        return folder

    def path(self, file: str) -> Path:
        """Where a file of its module is."""
        return self._sources / file

    def define(self, *files: str) -> None:
        """Installs the definitions in these files of its module; returns when their objects are served."""
        for file in files:
            self._plane.kubectl("apply", "--server-side", "-f", str(self.path(file)))
            with self._plane.api() as api:
                for each in self.documents(file):
                    eventually(partial(_is_established, api, each["metadata"]["name"]))

    def configure(self, group: str) -> Path:
        """Writes the configuration file of a program that has one, in its API group, and returns the path."""
        path = self._plane.files.folder / f"{self._name}.yaml"
        document = {
            "apiVersion": f"{group}/v1alpha1",
            "kind": "Configuration",
            "health": {"healthProbeBindAddress": f"{HOST}:{self.health_port}"},
            "metrics": {"bindAddress": "0"},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": False},
            "webhook": {"host": HOST, "port": self.webhook_port, "certDir": str(self.certificates)},
        }
        path.write_text(yaml.safe_dump(document))
        return path

    def start(self, *arguments: str, environment: Mapping[str, str] = {}, page: str = "/readyz") -> None:
        """Starts it and returns when its health page is well; raises `StartError` where it is not."""
        command = [str(locate(self._name)), *arguments]
        given = {"KUBECONFIG": str(self._plane.kubeconfig()), **environment}
        self._plane.start_program(command, is_ready=lambda: self.is_well(page), environment=given)

    def is_well(self, page: str) -> bool:
        """Whether one of its health pages says so."""
        connection = http.client.HTTPConnection(HOST, self.health_port, timeout=_ANSWERS_WITHIN_SECONDS)
        try:
            connection.request("GET", page)
            return connection.getresponse().status == HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()

    def call_webhooks(self, file: str) -> None:
        """Has the API server call the webhooks in this file of its module, where the program serves them."""
        at = f"https://{HOST}:{self.webhook_port}"
        called = [webhooks.at(each, at, self._plane.ca_file.read_bytes()) for each in self.documents(file)]
        for number, each in enumerate(called):
            each["metadata"]["name"] = f"{self._name}-{number}"
        self._plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(called))

    def documents(self, file: str) -> Iterator[dict[str, Any]]:
        """The objects in a file of its module."""
        return (each for each in yaml.safe_load_all(self.path(file).read_text()) if each)


def _is_established(api: Api, definition: str) -> bool:
    """Whether the objects that it defines are served. It has no conditions at first, with which kubectl cannot wait."""
    found = api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{definition}")
    conditions = found.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
