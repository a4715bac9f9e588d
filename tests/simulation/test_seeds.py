"""Whatever a seed does to the cluster, all that Muster promises holds; see docs/reliability.md for what that is.

Some three minutes of CPU. More seeds: `make simulate-faults SEEDS=1-10000`.
"""

import subprocess
import sys

_HOW_MANY = 300


def test_all_that_is_promised_holds() -> None:
    """In processes of their own, on all cores; a seed that fails is cut down, and told with what plays it again."""
    command = [sys.executable, "-m", "muster.testing.simulation", "--quiet", f"0-{_HOW_MANY - 1}"]
    played = subprocess.run(command, capture_output=True, text=True)
    assert played.returncode == 0, played.stdout + played.stderr
    assert f"{_HOW_MANY} seeds, 0 went wrong" in played.stdout
