"""Runs Kubernetes' own tests of scheduling against both schedulers: `python -m tests.conformance`, or `make e2e`.

Each scheduler gets a cluster of its own, and both are tested at the same time. Whatever ends the command ends all that
it started; logs stay in `build/e2e`. With `--record` the outcomes are kept as the result `e2e`, which
docs/conformance.md shows. Fails if Muster fails a test that kube-scheduler passes.
"""

import asyncio
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack

import click

from bench.client import Client
from bench.failures import FAILURES, text_of
from bench.provenance import REPOSITORY
from bench.tables.conformance import E2E
from tests.conformance.cluster import NODES, SIDES, register, until_ready
from tests.conformance.kubelet import Kubelets
from tests.conformance.report import Outcome, compare, document, regressions
from tests.conformance.suite import FOCUS, SEED, Selection, SuiteError, started
from tests.controlplane.binaries import KUBERNETES_VERSION
from tests.controlplane.plane import ControlPlane
from tests.parity.summary import origin, summarise

LOGS = REPOSITORY / "build" / "e2e"
_LOOK_SECONDS = 0.5


@click.command(context_settings={"show_default": True})
@click.option("--focus", multiple=True, help="Run the tests whose names match, instead of all; may be repeated.")
@click.option("--seed", type=int, default=SEED, help="The order of the tests.")
@click.option("--record", is_flag=True, help="Keep the outcomes as a result.")
def main(focus: tuple[str, ...], seed: int, record: bool) -> None:
    """Test kube-scheduler and Muster side by side, and say where they differ."""
    measured, began = origin(keep=record), time.monotonic()
    selection = Selection(focus or FOCUS, seed=seed)
    shutil.rmtree(LOGS, ignore_errors=True)
    try:
        found = _play(selection)
    except (*FAILURES, SuiteError, AssertionError) as error:
        raise click.ClickException(text_of(error)) from error
    compared = compare(*(found[side.name] for side in SIDES))
    data = document(compared, version=KUBERNETES_VERSION, seed=seed)
    print(E2E.body(data))
    summarise("e2e", data, measured, time.monotonic() - began)
    if failures := [*regressions(compared)]:
        raise click.ClickException("\n".join(["Muster fails what kube-scheduler passes:", *failures]))


def _play(selection: Selection) -> dict[str, list[Outcome]]:
    """The outcomes of each side, by its name, after both have run. Raises `FAILURES` and `SuiteError`."""
    with ExitStack() as stack:
        planes = {}
        for side in SIDES:
            planes[side.name] = stack.enter_context(side.cluster(LOGS / side.name))
            _tell(f"{side.name}: its cluster runs")
        return asyncio.run(_test_all(planes, selection))


async def _test_all(planes: Mapping[str, ControlPlane], selection: Selection) -> dict[str, list[Outcome]]:
    async with asyncio.TaskGroup() as group:
        tests = {name: group.create_task(_test(name, plane, selection)) for name, plane in planes.items()}
    return {name: task.result() for name, task in tests.items()}


async def _test(side: str, plane: ControlPlane, selection: Selection) -> list[Outcome]:
    """The outcomes of one side. Raises `RefusedError`, `TimeoutError` and `SuiteError`."""
    outcomes: list[Outcome] = []
    async with Client(plane.kubeconfig()) as client:
        await register(client)
        async with Kubelets(client, {node.name: node.address for node in NODES}) as kubelets:
            await until_ready(client)
            with started(plane, selection) as suite:
                runs = True
                while runs:
                    await asyncio.sleep(_LOOK_SECONDS)
                    await kubelets.raise_if_stopped()
                    runs = suite.is_running
                    for outcome in suite.news():
                        outcomes.append(outcome)
                        _tell(f"{side}: {outcome.state} after {outcome.seconds:.0f} s: {outcome.name}")
                suite.verify(outcomes)
    return outcomes


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
