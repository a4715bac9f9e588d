"""A seed gives one run, byte for byte, in another process with other hashes and addresses, too."""

import gc
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from msgspec.json import encode

from muster.sandbox.kinds import NODES
from muster.sandbox.objects import Object
from muster.testing import make_node
from muster.testing.simulation import simulate, standard
from muster.testing.simulation.stage import Stage

SEEDS = ("22", "24", "30")
PROGRAM = """
import logging, sys
from muster.testing.simulation import simulate
logging.disable(logging.CRITICAL)
garbage = [object() for _ in range(int(sys.argv[1]))]
for seed in sys.argv[2:]:
    print(simulate(seed).digest)
"""


def digests(hash_seed: str) -> list[str]:
    """The digests of the seeds in a process of its own."""
    played = subprocess.run(
        [sys.executable, "-c", PROGRAM, f"{int(hash_seed) * 1000}", *SEEDS],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return played.stdout.split()


def test_another_process_sees_the_same() -> None:
    first = digests("1")
    assert len(set(first)) == len(SEEDS)
    assert first == digests("2")


def test_garbage_that_is_collected_early_changes_nothing() -> None:
    """Equal pods share what is worked out of their specs as long as anything holds it, garbage included."""
    before = gc.isenabled(), gc.get_threshold()
    gc.enable()
    gc.set_threshold(50)
    early = simulate("40").digest
    gc.disable()
    late = simulate("40").digest
    gc.set_threshold(*before[1])
    if before[0]:
        gc.enable()
    assert early == late


def test_an_act_that_is_left_out_of_a_history_changes_only_the_runs_that_depend_on_it() -> None:
    whole = simulate("12")
    assert simulate("12", history=whole.history).digest == whole.digest
    assert simulate("12", history=whole.history[:-1]).digest != whole.digest


def asked(stage: Stage, node: Object) -> None:
    """A process writes the node."""

    async def send() -> None:
        await stage.replicas[0].transport.request("PUT", "/api/v1/nodes/node", body=encode(node), within=5.0)

    owner = stage.loop.owner("somebody")
    stage.loop.call_soon(lambda: stage.loop.create_task(send()) and None, context=owner.context)


def answered(stage: Stage, node: Object) -> None:
    """A process lists the node when it starts."""
    stage.server.store.replace_stored(NODES, node)
    stage.replicas[0].kill()


def watched(stage: Stage, node: Object) -> None:
    """Another client writes the node, and processes see it."""
    stage.server.store.replace_stored(NODES, node)


@pytest.mark.parametrize("happens", [asked, answered, watched])
def test_bodies_of_one_length_are_distinguished(happens: Callable[[Stage, Object], None]) -> None:
    """Nothing that Muster does follows from a node's address."""

    def digest(address: str) -> str:
        stage = Stage("bodies", 1, standard())
        stage.server.store.create(NODES, make_node("node"))
        stage.go_on(1.0)
        node = stage.server.store.get(NODES, "node").obj
        happens(stage, node | {"spec": {"podCIDR": address}})
        stage.go_on(10.0)
        stage.end()
        return stage.digest.hexdigest()

    assert digest("10.0.0.0/24") == digest("10.0.0.0/24")
    assert digest("10.0.0.0/24") != digest("10.1.0.0/24")
