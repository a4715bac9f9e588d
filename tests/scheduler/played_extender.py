"""An extender that a test plays: it answers what the test sets, when the test lets it, and records the requests."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from muster.framework.contract import PodInfo, Victims
from muster.framework.contract.extender import ExtenderError, ExtenderFilterResult, MetaVictims

Filtering = Callable[[str], str]
"""Node to why it does not do: "" where it does, with a leading "!" for unresolvable."""


def only(*names: str) -> Filtering:
    """These nodes do, others do not."""
    return lambda node: "" if node in names else f"{node} failed"


@dataclass
class PlayedExtender:
    """Implements `contract.Extender`; a verb that is None it does not have."""

    name: str = "http://played"
    filters: Filtering | None = None
    scores: Mapping[str, int] | None = None
    evicts: Mapping[str, Sequence[str]] | None = None
    binds: bool = False
    weight: int = 1
    ignorable: bool = False
    fails: str = ""
    pods: str = ""
    asked: list[str] = field(default_factory=list)
    held: asyncio.Event | None = None

    def __post_init__(self) -> None:
        self.is_filter = self.filters is not None
        self.is_prioritizer = self.scores is not None
        self.supports_preemption = self.evicts is not None
        self.is_binder = self.binds

    def is_interested(self, pod: PodInfo) -> bool:
        return pod.name.startswith(self.pods)

    async def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderFilterResult:
        await self._called(f"filter {pod.name}: {' '.join(node_names)}")
        assert self.filters is not None
        reasons = {name: self.filters(name) for name in node_names}
        return ExtenderFilterResult(
            [name for name, reason in reasons.items() if not reason],
            {name: reason for name, reason in reasons.items() if reason and reason[0] != "!"},
            {name: reason[1:] for name, reason in reasons.items() if reason[:1] == "!"},
        )

    async def prioritize(self, pod: PodInfo, node_names: Sequence[str]) -> Mapping[str, int]:
        await self._called(f"prioritize {pod.name}: {' '.join(node_names)}")
        return self.scores or {}

    async def process_preemption(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, MetaVictims]:
        reported = (f"{node}={','.join(each.name for each in victims[node].pods)}" for node in sorted(victims))
        await self._called(f"preempt {pod.name}: {' '.join(reported)}")
        return {node: MetaVictims(uids) for node, uids in (self.evicts or {}).items()}

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        await self._called(f"bind {pod.name}: {node_name}")

    async def _called(self, line: str) -> None:
        self.asked.append(line)
        if self.held is not None:
            await self.held.wait()
        if self.fails:
            raise ExtenderError(self.fails)
