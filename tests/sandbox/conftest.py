"""A running sandbox, and kubectl at work on it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.plugins.coscheduling.definition import definition
from muster.sandbox import Sandbox
from tests.sandbox.kubectl import Kubectl


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    """A sandbox with its stand-ins at work."""
    async with Sandbox([definition()]) as running:
        yield running


@pytest.fixture
def kubectl(sandbox: Sandbox, tmp_path: Path) -> Kubectl:
    """The machine's kubectl, talking to the sandbox."""
    return Kubectl(sandbox.kubeconfig(tmp_path / "kubeconfig"), tmp_path / "cache")
