"""The situations of Coscheduling: gangs, or a gang and single pods, for which there is no room together."""

from tests.peers.situations import (
    HIGH,
    PlacingSituation,
    PlayedGroup,
    PlayedPod,
    in_turn,
    members,
    names,
    singles,
)

WITHIN_SECONDS = 120.0
_SMALL, _LARGE = {"memory": "50"}, {"memory": "100"}
_ONE_NODE = {"only": {"memory": "300", "pods": "32"}}
_THREE, _FOUR = PlayedGroup(needs=3), PlayedGroup(needs=4)
_THREE_SMALL = PlayedGroup(needs=3, min_resources={"memory": "150"})
_FOUR_LARGE = PlayedGroup(needs=4, min_resources={"memory": "400"})


def _gangs(shows: str, come: list[PlayedPod], scheduled: list[PlayedPod], **groups: PlayedGroup) -> PlacingSituation:
    return PlacingSituation(
        shows=shows,
        nodes=_ONE_NODE,
        groups=groups,
        come=come,
        scheduled=names(scheduled),
        within=WITHIN_SECONDS,
    )


_fits, _never, _nor = members("fits", 3, _SMALL), members("never", 4, _LARGE), members("nor", 4, _LARGE)
_lacks_one = members("short", 3, _SMALL)
_whole, _urgent = members("whole", 3, _LARGE), members("urgent", 3, _SMALL, HIGH)
_two, _three_urgent = singles("single", 2, _LARGE), singles("single", 3, _LARGE, HIGH)

ON_ONE_NODE = [
    _gangs("a gang fits, and the next one is too large", [*_fits, *_never], _fits, fits=_THREE, never=_FOUR),
    _gangs(
        "a gang fits, and the other, whose pods come between, is too large",
        in_turn(_fits, _never),
        _fits,
        fits=_THREE,
        never=_FOUR,
    ),
    _gangs("single pods start beside a gang that lacks a member", in_turn(_lacks_one, _two), _two, short=_FOUR),
    _gangs(
        "a gang of higher priority starts after another has filled the node",
        [*_whole, *_urgent],
        _urgent,
        whole=_THREE,
        urgent=_THREE,
    ),
    _gangs(
        "a gang of higher priority starts whose pods come between those of another",
        in_turn(_whole, _urgent),
        _urgent,
        whole=_THREE,
        urgent=_THREE,
    ),
    _gangs(
        "single pods of higher priority come between those of a gang",
        in_turn(_fits, _three_urgent),
        _three_urgent,
        fits=_THREE,
    ),
    _gangs(
        "a gang fits, and two others, whose pods come between, are too large",
        in_turn(_fits, _never, _nor),
        _fits,
        fits=_THREE,
        never=_FOUR,
        nor=_FOUR,
    ),
    _gangs(
        "a gang fits, and two others ask for more than there is in minResources",
        in_turn(_fits, _never, _nor),
        _fits,
        fits=_THREE_SMALL,
        never=_FOUR_LARGE,
        nor=_FOUR_LARGE,
    ),
    _gangs(
        "a gang fits, and another asks for more than there is in minResources",
        in_turn(_fits, _never),
        _fits,
        fits=_THREE_SMALL,
        never=_FOUR_LARGE,
    ),
]

WITH_A_COMPLETED_MEMBER = PlacingSituation(
    shows="a completed member is none that a gang can start with",
    nodes={"large": {"cpu": "6", "pods": "32"}},
    groups={"rest": PlayedGroup(needs=6)},
    before=[PlayedPod(name="done", requests={"cpu": "1"}, group="rest", node="large", phase="Succeeded")],
    come=members("rest", 5, {"cpu": "1"}),
    scheduled=frozenset(),
    within=10.0,
)
"""There the node is never created, so that nothing could start in any case; here all five would fit."""

_never_on_four, _one = members("never", 6, {"cpu": "4"}), members("one", 1, {"cpu": "2"})
AFTER_A_FAILURE = PlacingSituation(
    shows="a gang that does not fit is left alone for a while, and another starts",
    nodes={"large": {"cpu": "6", "pods": "32"}} | {f"small-{n}": {"cpu": "2", "pods": "32"} for n in range(3)},
    groups={"never": PlayedGroup(needs=6), "one": PlayedGroup(needs=1)},
    come=[*_never_on_four, *_one],
    scheduled=names(_one),
    within=WITHIN_SECONDS,
)
