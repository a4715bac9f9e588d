"""Records what scheduler-plugins' plugin answers: `python -m tests.noderesourcetopology.record`.

It builds `upstream/main.go` with the version of scheduler-plugins in `upstream/go.mod`, asks it about the situations of
a seed, and writes both to `upstream/answers.jsonl.gz`. `test_upstream` compares Muster with the file; only recording
needs Go.
"""

import gzip
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tests.noderesourcetopology.situations import Situation, decisions, distances, names, reservations

UPSTREAM = Path(__file__).parent / "upstream"
ANSWERS = UPSTREAM / "answers.jsonl.gz"
_SEED = 1


def recorded() -> Iterator[tuple[Situation, dict[str, Any]]]:
    """The situations with scheduler-plugins' answers."""
    with gzip.open(ANSWERS, "rt") as file:
        for line in file:
            situation, answer = json.loads(line)
            yield situation, answer


def main() -> None:
    """Record."""
    drawn = ((decisions, 600), (distances, 60), (names, 40), (reservations, 100))
    situations = [each for draw, count in drawn for each in islice(draw(_SEED), count)]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("main.go", "go.mod"):
            shutil.copy(UPSTREAM / name, folder)
        subprocess.run(["go", "build", "-mod=mod", "-o", "upstream", "."], cwd=folder, check=True)
        asked = "".join(json.dumps(each) + "\n" for each in situations)
        found = subprocess.run([f"{folder}/upstream"], input=asked, capture_output=True, text=True, check=True)
    answers = map(json.loads, found.stdout.splitlines())
    lines = [json.dumps(pair, separators=(",", ":")) + "\n" for pair in zip(situations, answers, strict=True)]
    ANSWERS.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


if __name__ == "__main__":
    main()
