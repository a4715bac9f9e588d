"""The three packages of the tutorial: each is built, installed, found by its entry point, and does what it says."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from muster.framework.contract import Plugin
from muster.plugins.catalog import IN_TREE, discover
from muster.testing import VirtualScheduler, make_node, make_pod

HERE = Path(__file__).parent
PACKAGES = {"Prices": "prices", "Approvals": "approvals", "Crews": "crews"}

PRICES = "nodeprices.v1.example.com"
APPROVALS = "approvals.v1.example.com"


def price(node: str, cents: int) -> dict[str, Any]:
    return {"metadata": {"name": node}, "spec": {"centsPerHour": cents}}


def launch(*, go: bool) -> dict[str, Any]:
    return {"metadata": {"namespace": "default", "name": "launch"}, "spec": {"go": go}}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, type[Plugin]]]:
    """The plugins of all three packages, installed as pip does it and found as Muster finds them."""
    folder = tmp_path_factory.mktemp("examples")
    # Building leaves files beside the source.
    copies = [str(copytree(HERE / package, folder / "source" / package)) for package in PACKAGES.values()]
    options = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation"]
    target = folder / "installed"
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), *copies]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(target))
        importlib.invalidate_caches()
        found = discover(PACKAGES)
        yield {name: found[name] for name in found.keys() - IN_TREE.keys()}
    for package in PACKAGES.values():
        sys.modules.pop(f"muster_{package}", None)


async def test_pods_go_to_the_cheapest_node_as_prices_change(installed: dict[str, type[Plugin]]) -> None:
    scheduler = VirtualScheduler(installed["Prices"])
    scheduler.add_nodes(make_node("a"), make_node("b"))
    scheduler.api.put(PRICES, price("a", 50))
    scheduler.api.put(PRICES, price("b", 10))
    await scheduler.settle()
    [first] = scheduler.add(make_pod("first"))
    await scheduler.run(1)
    scheduler.api.put(PRICES, price("b", 90))
    await scheduler.settle()
    [second] = scheduler.add(make_pod("second"))
    await scheduler.run(1)

    assert (scheduler.node_of(first), scheduler.node_of(second)) == ("b", "a")
    await scheduler.kill()


async def test_a_pod_is_bound_when_its_approval_says_go(installed: dict[str, type[Plugin]]) -> None:
    scheduler = VirtualScheduler(installed["Approvals"])
    scheduler.add_nodes(make_node("a"))
    [held, free] = scheduler.add(make_pod("held").annotations({"example.com/approval": "launch"}), make_pod("free"))
    scheduler.api.put(APPROVALS, launch(go=False))
    await scheduler.run(5)
    assert (scheduler.node_of(held), scheduler.node_of(free)) == ("", "a")

    scheduler.api.put(APPROVALS, launch(go=True))
    await scheduler.run(1)

    assert scheduler.node_of(held) == "a"
    await scheduler.kill()


async def test_a_pod_whose_time_is_up_is_tried_again_with_its_approval(installed: dict[str, type[Plugin]]) -> None:
    scheduler = VirtualScheduler(installed["Approvals"])
    scheduler.add_nodes(make_node("a"))
    [held] = scheduler.add(make_pod("held").annotations({"example.com/approval": "launch"}))
    await scheduler.run(301)
    assert "timeout after waiting 5m0s at plugin Approvals" in scheduler.notes(held)[0]

    scheduler.api.put(APPROVALS, launch(go=True))
    await scheduler.run(20)

    assert scheduler.node_of(held) == "a"
    await scheduler.kill()


async def test_a_crew_starts_whole_or_not_at_all(installed: dict[str, type[Plugin]]) -> None:
    scheduler = VirtualScheduler(installed["Crews"])
    scheduler.add_nodes(make_node("a", cpu="2"))
    labels = {"example.com/crew": "rowers", "example.com/crew-size": "3"}
    crew = scheduler.add(*(make_pod(f"rower-{number}").labels(labels).requests(cpu="1") for number in range(3)))
    await scheduler.run(5)
    assert [scheduler.node_of(key) for key in crew] == ["", "", ""]
    assert "2 of 3 pods of crew default/rowers fit" in scheduler.notes(crew[0])[0]

    scheduler.add_nodes(make_node("b", cpu="1"))
    await scheduler.run(20)

    assert sorted(scheduler.node_of(key) for key in crew) == ["a", "a", "b"]
    scheduler.check()
    await scheduler.kill()
