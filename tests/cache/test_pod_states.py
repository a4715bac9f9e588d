"""The table of pod states itself; that the cache follows it is tested with the cache."""

import itertools

import pytest

from muster.framework.cache import pod_states
from muster.framework.cache.pod_states import TRANSITIONS, IllegalTransition, PodEvent, PodState, next_state
from tests.cache.objects import pod

ILLEGAL = {
    (PodState.ASSUMED, PodEvent.ASSUME),
    (PodState.BOUND, PodEvent.ASSUME),
    (PodState.BOUND, PodEvent.CONFIRM),
    (PodState.ABSENT, PodEvent.EXPIRE),
    (PodState.BOUND, PodEvent.EXPIRE),
}


def test_every_event_is_legal_in_every_state_except_where_only_a_bug_can_cause_it() -> None:
    missing = {
        (state, event) for state, event in itertools.product(PodState, PodEvent) if state not in TRANSITIONS[event]
    }
    assert missing == ILLEGAL


@pytest.mark.parametrize(("state", "event"), sorted(ILLEGAL))
def test_an_illegal_event_is_refused(state: PodState, event: PodEvent) -> None:
    with pytest.raises(IllegalTransition):
        next_state(pod("p"), state, event)


def test_the_refusal_names_the_pod_its_state_and_the_event() -> None:
    with pytest.raises(IllegalTransition) as refusal:
        next_state(pod("p"), PodState.ASSUMED, PodEvent.ASSUME)
    assert str(refusal.value) == "cannot assume pod default/p (UID pod-default-p): it is assumed in the cache"


@pytest.mark.parametrize("state", PodState)
def test_a_report_of_the_api_always_wins(state: PodState) -> None:
    assert next_state(pod("p"), state, PodEvent.UPDATE) is PodState.BOUND
    assert next_state(pod("p"), state, PodEvent.REMOVE) is PodState.ABSENT


def test_the_picture_names_every_state_and_event() -> None:
    words = (pod_states.__doc__ or "").split("1. ")[0].replace("\n", " ")
    for member in (*PodState, *PodEvent):
        assert member.name.split("_")[0] in words.upper()
