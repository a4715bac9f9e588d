"""The last word on a group, as the controller reads it."""

from tests.coscheduling.world import World


def word(world: World, group: str, namespace: str = "default") -> tuple[str, str]:
    """Reason and message; both empty while there is none."""
    verdict = world.gangs.board.get(f"{namespace}/{group}")
    return ("", "") if verdict is None else (verdict.reason.value, verdict.message)
