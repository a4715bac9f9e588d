"""All that Muster promises holds under every seed; see docs/reliability.md for what that is.

Fifty seeds, about a minute of CPU, are enough for everything to take part; `make nightly` plays ten thousand.
"""

import json
import subprocess
import sys

from muster.testing.simulation.traits import HEALING, MIN_RESOURCES, PREFERRED, REQUIRED, SLICE_SIZE

HOW_MANY = 50
"""Seeds from 0 on, under which nothing goes wrong."""
TAKES_PART = {
    "acts": {
        "budget_comes",
        "claimers_come",
        "claiming_member_comes",
        "devices_come",
        "group_is_held",
        "held_group_comes",
        "leader_is_killed",
        "leader_stands",
        "member_is_lost",
        "quota_is_set",
        "stream_begins",
        "tree_comes",
    },
    "groups": {"Kubernetes' own", "by label", REQUIRED, PREFERRED, SLICE_SIZE, HEALING, MIN_RESOURCES},
    "plugins asked": {"CapacityScheduling", "Coscheduling", "DynamicResources", "GangScheduling", "Reservation"},
    "pods held back": {
        "CapacityScheduling",
        "Coscheduling",
        "DynamicResources",
        "GangScheduling",
        "NodeResourcesFit",
        "Reservation",
    },
    "events": {"groups judged", "pods evicted", "reservations", "waited for a reservation"},
}
"""Things that only the seeds choose. A promise about a thing that never takes part is not proven."""


def test_all_that_is_promised_holds_and_all_that_it_is_promised_about_takes_part() -> None:
    """In processes of their own, on all cores; a failing seed is reduced, and reported with its command."""
    command = [sys.executable, "-m", "muster.testing.simulation", "--quiet", "--output", "json", f"0-{HOW_MANY - 1}"]
    played = subprocess.run(command, capture_output=True, text=True)
    assert played.returncode == 0, played.stderr + played.stdout
    found = json.loads(played.stdout)
    assert (found["seeds"], found["wrong"]) == (HOW_MANY, 0)
    took_part = {what: {name for name, count in counts.items() if count} for what, counts in found["took_part"].items()}
    assert {what: sorted(names - took_part[what]) for what, names in TAKES_PART.items()} == {
        what: [] for what in TAKES_PART
    }
