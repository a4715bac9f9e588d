"""Does to real processes what befalls them, while pods and gangs are created, and counts what was lost.

`python -m tests.ha.faults [WORD]`: all faults, or those whose names have this in them. Two replicas run on an API
server with etcd, and whatever of them ends is started again, as a kubelet does. After each fault everything is well
again, and then every pod has to be bound, once, with no node overfull and no gang bound in part. The exit code is 0
only then.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.builders import make_node
from tests.controlplane.plane import ControlPlane
from tests.deployed import define_pod_groups
from tests.ha import audit
from tests.ha.replica import Terms, create_role
from tests.ha.stage import Pair, Work, lost, wait_for

NODES = 25
PODS = 80
"""That come with each fault, and fill the nodes with the last of them at most."""
LASTS_SECONDS = 8.0
"""Longer than a lease."""
BOUND_WITHIN_SECONDS = 180.0
DELAY_SECONDS = 0.3
NAME = "faults"
TERMS = Terms(NAME, seconds=(6, 4, 1))


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens, and how all is made well again after `LASTS_SECONDS`."""

    name: str
    begin: Callable[[ControlPlane, Pair], object]
    end: Callable[[ControlPlane, Pair], object] = lambda plane, pair: None


def _kill(name: str) -> Fault:
    def begin(plane: ControlPlane, pair: Pair) -> None:
        plane.server(name).stop()

    return Fault(f"kill -9 of {name}", begin, lambda plane, pair: plane.start_again(name))


def _stop(name: str) -> Fault:
    def send(number: signal.Signals, plane: ControlPlane, pair: Pair) -> None:
        os.killpg(plane.server(name).pid, number)

    return Fault(f"SIGSTOP of {name}", partial(send, signal.SIGSTOP), partial(send, signal.SIGCONT))


def _network(what: str, begin: Callable[[Pair], object]) -> Fault:
    return Fault(f"the leader's network is {what}", lambda plane, pair: begin(pair), lambda plane, pair: pair.mend())


def _slow(pair: Pair) -> None:
    pair.leader().wall.delay = DELAY_SECONDS


FAULTS = (
    Fault("kill -9 of the leader", lambda plane, pair: pair.leader().process.kill()),
    _kill("kube-apiserver"),
    _kill("etcd"),
    Fault(
        "SIGSTOP of the leader",
        lambda plane, pair: pair.stop_leader(),
        lambda plane, pair: pair.go_on(),
    ),
    _stop("kube-apiserver"),
    _stop("etcd"),
    _network("cut", lambda pair: pair.leader().wall.cut()),
    _network("silent", lambda pair: pair.leader().wall.silence()),
    _network("slow", _slow),
)


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 only if nothing was lost."""
    chosen = [fault for fault in FAULTS if all(word in fault.name for word in arguments)]
    failed = False
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        log = folder / "audit.log"
        with ControlPlane(folder, api_server_arguments=audit.arguments(folder, log)) as plane:
            pair = _start(plane, folder)
            try:
                for number, fault in enumerate(chosen):
                    failed |= _play(fault, plane, pair, number, log)
            finally:
                pair.close()
    return 1 if failed else 0


def _start(plane: ControlPlane, folder: Path) -> Pair:
    """Nodes, and two replicas of which one leads."""
    define_pod_groups(plane)
    with plane.api() as api:
        create_role(api)
        api.post("/api/v1/namespaces", {"metadata": {"name": NAME}})
        for number in range(NODES):
            api.post("/api/v1/nodes", make_node(f"node-{number}"))
    pair = Pair(plane, TERMS, folder)
    pair.leader()
    return pair


def _play(fault: Fault, plane: ControlPlane, pair: Pair, number: int, log: Path) -> bool:
    """Whether anything was lost."""
    pair.leader()
    turns = PODS // 20
    work = Work(plane, NAME, first=number * turns, pods=PODS)
    wait_for(lambda: _bound(plane) > number * PODS, pair, seconds=BOUND_WITHIN_SECONDS)
    fault.begin(plane, pair)
    wait_for(lambda: False, pair, seconds=LASTS_SECONDS)
    fault.end(plane, pair)
    took = wait_for(lambda: work.is_done and _bound(plane) == (number + 1) * PODS, pair, seconds=BOUND_WITHIN_SECONDS)
    with plane.api() as api:
        faults = [*lost(api, NAME, log, [seat.user for seat in pair.seats])]
    if took is None and not faults:
        faults.append(f"not all was bound within {BOUND_WITHIN_SECONDS:.0f} s")
    within = "" if took is None else f", all bound {took:.1f} s after its end"
    print(f"{fault.name}: {PODS} pods came{within}; lost: {'; '.join(faults) or 'nothing'}", flush=True)
    return bool(faults)


def _bound(plane: ControlPlane) -> int:
    with plane.api() as api:
        pods = api.get(f"/api/v1/namespaces/{NAME}/pods")["items"]
    return sum("nodeName" in pod["spec"] for pod in pods)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
