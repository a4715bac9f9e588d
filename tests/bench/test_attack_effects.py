"""Effects of an attack on others: each bound is judged by itself, and memory against one reading at the start."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bench.attack_effects import MIB, AttackEffects, Bounds, faults, longest_block, verdicts
from bench.attacks import ATTACKS

WELL = AttackEffects(
    "well",
    held=0.05,
    livez=0.9,
    bound=[0.2, 0.9],
    before=200 * MIB,
    highest=400 * MIB,
    after=219 * MIB,
    lease_kept=True,
)


def test_an_attack_within_every_bound_has_no_fault() -> None:
    assert faults(WELL, Bounds(), 200 * MIB) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda: replace(WELL, held=0.1), "the loop was blocked for up to 0.1 s, not 0.05 s"),
        (lambda: replace(WELL, livez=1.25), "/livez took 1.25 s"),
        (lambda: replace(WELL, bound=[0.2, 1.1]), "other pods were late"),
        (lambda: replace(WELL, unbound=2), "2 other pods were not bound"),
        (lambda: replace(WELL, bound=[]), "no other pod was bound"),
        (lambda: replace(WELL, after=221 * MIB), "21 MiB of memory are not given back"),
        (lambda: replace(WELL, before=250 * MIB, after=265 * MIB), "memory has grown by 65 MiB since the first attack"),
        (lambda: replace(WELL, lease_kept=False), "the lease was lost"),
        (lambda: replace(WELL, seen="the group says nothing"), "the group says nothing"),
    ],
)
def test_each_effect_that_exceeds_its_bound_is_the_one_fault(change: Callable[[], AttackEffects], fault: str) -> None:
    assert faults(change(), Bounds(), 200 * MIB) == [fault]


def test_an_attack_has_bounds_of_its_own() -> None:
    assert faults(replace(WELL, held=0.5), Bounds(held=0.5), 200 * MIB) == []


def test_memory_that_each_attack_leaves_a_little_of_is_a_fault_in_the_end() -> None:
    replayed = [(replace(WELL, before=size * MIB, after=(size + 18) * MIB), Bounds()) for size in range(200, 272, 18)]
    assert verdicts(replayed) == [
        [],
        [],
        [],
        ["memory has grown by 72 MiB since the first attack"],
    ]


@pytest.mark.parametrize(
    ("after", "held"),
    [
        ({0.005: 9.0, 0.05: 2.0, 0.5: 1.0, float("inf"): 0.0}, 0.005),
        ({0.005: 9.0, 0.05: 3.0, 0.5: 1.0, float("inf"): 0.0}, 0.05),
        ({0.005: 9.0, 0.05: 3.0, 0.5: 1.0, float("inf"): 1.0}, float("inf")),
    ],
)
def test_the_loop_was_held_as_long_as_the_highest_bucket_says_that_was_counted_up(
    after: dict[float, float], held: float
) -> None:
    assert longest_block({0.005: 9.0, 0.05: 2.0, 0.5: 1.0, float("inf"): 0.0}, after) == held


def test_a_bad_sort_key_and_a_package_that_cannot_be_imported_are_among_the_attacks() -> None:
    named = {attack.name: attack for attack in ATTACKS}
    assert len(named) == len(ATTACKS)
    for name in ("a queue sort plugin with 6 bad sort keys", "a package that cannot be imported"):
        assert named[name].look is not None
