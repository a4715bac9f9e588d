"""A proposal of moves, as `planner` makes it and as commands, pages and `carrying` use it.

Its sentences are here too, so that the command and the web page say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from muster.operator.simulate.wording import counted

_NAMED = 3


@dataclass(frozen=True, slots=True)
class PodMove:
    """A pod that is moved.

    Attributes:
        pod: its `namespace/name`.
        uid: its UID.
        node: its node.
        to: the node that its replacement would get, as the engine decides now.
        group: the group that is moved as a whole with it; "" for none.
        priority: its priority.
        controller: who replaces it, as `Kind name`.
    """

    pod: str
    uid: str
    node: str
    to: str
    group: str
    priority: int
    controller: str


@dataclass(frozen=True, slots=True)
class MoveProposal:
    """Moves that reach an aim.

    Attributes:
        starts: the `namespace/name` of the group or pod that would start; "" if nodes become free.
        group: whether that is a group.
        started: the node of each pod of it, by `namespace/name`.
        label: the label whose domains become free; "" for single nodes.
        frees: the nodes, or values of the label, that become free.
        moves: the moves, in the order in which they are carried out.
        keep: the nodes that the moved pods may not go to, because they are to be free for what starts.
        fewest: whether it is certain that no smaller number of pods would do.
    """

    starts: str
    group: bool
    started: Mapping[str, str]
    label: str
    frees: Sequence[str]
    moves: Sequence[PodMove]
    keep: Sequence[str]
    fewest: bool

    @property
    def aim(self) -> str:
        """The result, as a clause: `group ml/train would start`."""
        if self.starts:
            return f"{'group' if self.group else 'pod'} {self.starts} would start"
        names = ", ".join(self.frees)
        if self.label:
            return f"{self.label}={names} would be free"
        return f"{'node' if len(self.frees) == 1 else 'nodes'} {names} would be free"

    @property
    def failed_aim(self) -> str:
        """The missed result, as a clause: `group ml/train would not start`."""
        return self.aim.replace(" would ", " would not ")

    @property
    def sentences(self) -> Iterator[str]:
        """The sentences for users, below a table of the moves."""
        pods = len(self.moves)
        yield f"If {'this pod' if pods == 1 else f'these {pods} pods'} moved, {self.aim}."
        if self.started:
            nodes = [*dict.fromkeys(self.started.values())]
            more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
            yield f"It would get {counted(len(nodes), 'node')}: {', '.join(nodes[:_NAMED])}{more}."
        if self.fewest:
            yield "Fewer pods would not do."
        else:
            yield "Fewer pods might do: not every smaller set was tried."


@dataclass(frozen=True, slots=True)
class Unhelped:
    """A pod, group, node or domain that moving pods does not help, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class DefragReport:
    """The answer to a question about moves.

    Attributes:
        proposal: the moves; None if no moves help.
        unhelped: what no moves would help, in the order in which it was examined.
    """

    proposal: MoveProposal | None
    unhelped: Sequence[Unhelped] = ()
