"""The limit of open files is raised as far as the system lets a process raise its own."""

import resource
import subprocess
import sys

import pytest

PROGRAM = """
import resource
from muster.operator.process.descriptors import raise_descriptor_limit
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(raise_descriptor_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "after"),
    [(256, 2048, 2048), (2048, 2048, 2048), (256, 512, 512)],
)
def test_the_soft_limit_becomes_the_hard_one(soft: int, hard: int, after: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert most == resource.RLIM_INFINITY or most >= hard
    command = [sys.executable, "-c", PROGRAM.format(soft=soft, hard=hard)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(after), str(after), str(hard)]
    assert ("may open few" in done.stderr) == (after < 1024)
