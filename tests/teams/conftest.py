"""Muster with the plugin installed beside it."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from muster.plugins import catalog

from .objects import CONFIGURATION

TEAMS = EntryPoint(name="Teams", value="tests.teams.plugin:Teams", group=catalog.GROUP)


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that has the plugin's entry point is installed."""
    monkeypatch.setattr(catalog, "entry_points", lambda *, group: [TEAMS])


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    """A configuration file that enables the plugin."""
    path = tmp_path / "configuration.yaml"
    path.write_bytes(CONFIGURATION)
    return path
