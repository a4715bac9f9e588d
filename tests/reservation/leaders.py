"""Leaders that follow one another: each knows of the others what the API has, and no more."""

from muster.framework.model.times import rfc3339
from tests.stored_conditions import StoredConditions

WITHOUT_LEADER = 15.0
"""How long a lease lasts without renewal."""


class Leaders(StoredConditions):
    """A scheduler whose conditions the API stores, and on whose nodes pods get a start time."""

    leader_until = float("inf")
    """When the next leader change begins."""
    leader_every = float("inf")
    """How long each leader lives, and the time without one that follows."""

    def change_leader_every(self, seconds: float, first: float) -> None:
        """From now on each leader lives this long, and the present one until the moment `first`."""
        self.leader_every, self.leader_until = seconds, first

    async def pass_time(self, seconds: float) -> None:
        """So much time passes; the leader changes when its time has come."""
        self._start_pods()
        end = self.clock.now() + seconds
        while self.leader_until <= end:
            await self.run(self.leader_until - self.clock.now())
            await self.kill()
            self.clock.move_to(self.clock.now() + WITHOUT_LEADER)
            self.end_pods()
            self.leader_until += self.leader_every
            self.start()
        await self.run(max(0.0, end - self.clock.now()))

    def end_pods(self) -> None:
        """Pods end whose time has come, whether there is a leader or not; overridden where they do."""

    def _start_pods(self) -> None:
        stamp = rfc3339(self.clock.wall())
        for key, pod in [*self.api.pods.items()]:
            if pod["spec"].get("nodeName") and "startTime" not in pod.get("status", {}):
                self.api.change("pods", key, lambda pod: pod.setdefault("status", {}).update(startTime=stamp))
