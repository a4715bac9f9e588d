"""The last word on a group, as the controller reads it."""

from tests.coscheduling.world import World


def word(world: World, group: str, namespace: str = "default") -> tuple[str, str]:
    """Reason and message; both empty while there is none."""
    announcement = world.groups.record(f"{namespace}/{group}").announced
    return ("", "") if announcement is None else (announcement.reason.value, announcement.message)
