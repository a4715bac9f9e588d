"""A page of the documentation as its readers follow it: one command block after the other, each in a shell.

Blocks marked `sh` are run; a block marked `text` right behind one is what it prints. In that, `…` stands for anything
within a line, and the width of columns does not count.
"""

import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_WITHIN_SECONDS = 90.0
_LOOK_EVERY_SECONDS = 0.5


@dataclass(frozen=True)
class Step:
    """Commands, and what they print; None where the page does not say."""

    commands: str
    printed: str | None


def steps(page: Path, section: str = "") -> list[Step]:
    """The steps of a page, or of the section of it that has this heading."""
    text = page.read_text()
    if section:
        [text] = re.findall(rf"^{re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    blocks = _FENCED.findall(text)
    following = [*blocks[1:], ("", "")]
    return [
        Step(commands, printed if language == "text" else None)
        for (shell, commands), (language, printed) in zip(blocks, following, strict=True)
        if shell == "sh"
    ]


@dataclass(frozen=True)
class Reader:
    """A user who follows pages in `folder`, with these variables in the environment."""

    folder: Path
    environment: Mapping[str, str]

    def follow(self, page: Path, section: str = "") -> None:
        """Do what the page says, step by step.

        Who does not see yet what is to be seen looks again, as people do.
        """
        found = steps(page, section)
        assert found
        for step in found:
            deadline = time.monotonic() + _WITHIN_SECONDS
            while True:
                done = self.run(step.commands)
                reported = f"{step.commands}\nends with {done.returncode}: {done.stdout}{done.stderr}"
                if step.printed is None:
                    assert done.returncode == 0, reported
                    break
                if same(step.printed, done.stdout):
                    break
                assert time.monotonic() < deadline, f"{reported}\nbut the page says:\n{step.printed}"
                time.sleep(_LOOK_EVERY_SECONDS)

    def run(self, commands: str) -> subprocess.CompletedProcess[str]:
        """What becomes of commands."""
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=self.folder,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )


def same(promised: str, printed: str) -> bool:
    """Whether that is what the page promised."""
    expected, found = _lines(promised), _lines(printed)
    return len(expected) == len(found) and all(
        re.fullmatch(".*".join(map(re.escape, line.split("…"))), other)
        for line, other in zip(expected, found, strict=True)
    )


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]
