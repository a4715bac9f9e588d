"""A clock whose wall time jumps, as if an administrator set it."""

from muster.framework.embedded.clock import VirtualClock


class JumpingClock(VirtualClock):
    """Its time on the wall is `jump` seconds off."""

    jump = 0.0

    def wall(self) -> float:
        return super().wall() + self.jump
