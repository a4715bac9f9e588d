"""The tables of figures that the pages show, in Markdown, each from one or more results.

`python -m bench tables` prints them and writes them into the pages (`bench.published`). All functions are pure: equal
results give equal texts.
"""

from bench.tables.block import Block, render
from bench.tables.clusters import BESIDE, FULL, RUNNING, STORM, VAST
from bench.tables.comparison import PARITY, PARITY_GROUPS, PARITY_PREEMPTION, PARITY_TREES, SIMULATION
from bench.tables.conformance import E2E
from bench.tables.endurance import ATTACK, SOAK, WEB
from bench.tables.goals import GOALS
from bench.tables.speed import GANGS, GROUPS, LATENCY, LOOP, QUOTAS, SHAPES, SINGLE_PODS
from bench.tables.upstream import UPSTREAM

BLOCKS = {
    "goals": GOALS,
    "single-pods": SINGLE_PODS,
    "loop": LOOP,
    "quotas": QUOTAS,
    "latency": LATENCY,
    "beside": BESIDE,
    "gangs": GANGS,
    "shapes": SHAPES,
    "groups": GROUPS,
    "upstream": UPSTREAM,
    "running": RUNNING,
    "vast": VAST,
    "full": FULL,
    "storm": STORM,
    "web": WEB,
    "attack": ATTACK,
    "soak": SOAK,
    "parity": PARITY,
    "parity-preemption": PARITY_PREEMPTION,
    "parity-groups": PARITY_GROUPS,
    "parity-trees": PARITY_TREES,
    "simulation": SIMULATION,
    "e2e": E2E,
}
"""The blocks by the names that pages use."""

__all__ = ["BLOCKS", "Block", "render"]
