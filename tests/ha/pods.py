"""The pods of a namespace as a watch reports them: on which nodes each of them was ever seen."""

import json
import subprocess
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import IO

from tests.controlplane.binaries import locate_kubectl
from tests.controlplane.plane import ControlPlane

GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


class PodWatch:
    """Watches from the moment it is made until it is closed. Pods must not be deleted meanwhile.

    Attributes:
        nodes: by pod, the nodes it was on, in order; a pod that has none yet is there too.
    """

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/pods?watch=1&timeoutSeconds=600"
        command = [str(locate_kubectl()), f"--kubeconfig={plane.kubeconfig()}", "get", f"--raw={path}"]
        self.nodes: dict[str, list[str]] = {}
        self._groups: dict[str, str] = {}
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._reader.join()
        self._process.communicate()

    @property
    def bound(self) -> int:
        """How many pods have a node."""
        return sum(map(bool, tuple(self.nodes.values())))

    def bound_members(self) -> Mapping[str, int]:
        """How many pods of each group have a node."""
        groups = tuple(self._groups.items())
        return Counter({name: 0 for _, name in groups} | Counter(name for pod, name in groups if self.nodes[pod]))

    def moved(self) -> Mapping[str, Sequence[str]]:
        """Pods that had more than one node."""
        return {pod: nodes for pod, nodes in self.nodes.items() if len(nodes) > 1}

    def _read(self, lines: IO[bytes]) -> None:
        for line in lines:
            pod = json.loads(line)["object"]
            name, node = pod["metadata"]["name"], pod["spec"].get("nodeName")
            seen = self.nodes.setdefault(name, [])
            if node and node not in seen[-1:]:
                seen.append(node)
            if group := pod["metadata"].get("labels", {}).get(GROUP_LABEL):
                self._groups[name] = group
