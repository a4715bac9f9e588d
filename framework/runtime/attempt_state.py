"""The state of an attempt: notes of plugins, and data that the engine keeps from one extension point to the next.

The cycles create one for every attempt. Plugins see it as a `CycleState`; the handle converts it back when a plugin
passes it on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..contract.cycle_state import CycleState
from .consultation import Consultation


class AttemptState(CycleState):
    """A `CycleState` with the engine's own fields.

    Attributes:
        sampled: whether the time of each plugin is recorded in this attempt.
        skip_filter_plugins: plugins that answered SKIP in PreFilter: their Filter is left out.
        skip_score_plugins: plugins that answered SKIP in PreScore: their Score is left out.
        pre_bind_plugins: plugins that have something to do before the pod is bound.
        within: the only rows that count as the node list, ascending: a topology domain; None for all nodes.
        consultation: what extenders said of the pod; None when none is interested in it.
        nodes_to_ask: the names of nodes that fit, about which extenders have to be asked again, because none that they
            allow fits; None if their answers hold.
    """

    __slots__ = (
        "consultation",
        "nodes_to_ask",
        "pre_bind_plugins",
        "sampled",
        "skip_filter_plugins",
        "skip_score_plugins",
        "within",
    )

    def __init__(self, *, sampled: bool = False) -> None:
        super().__init__()
        self.sampled = sampled
        self.skip_filter_plugins: frozenset[str] = frozenset()
        self.skip_score_plugins: frozenset[str] = frozenset()
        self.pre_bind_plugins: frozenset[str] = frozenset()
        self.within: npt.NDArray[np.intp] | None = None
        self.consultation: Consultation | None = None
        self.nodes_to_ask: frozenset[str] | None = None

    @staticmethod
    def of(state: CycleState) -> AttemptState:
        """The state that a plugin hands back. Raises TypeError for one that was not made for an attempt."""
        if not isinstance(state, AttemptState):
            raise TypeError("the state is not that of an attempt, nor a clone of one")
        return state

    def skips_filter(self, plugin: str) -> bool:
        """Whether the plugin's Filter is left out."""
        return plugin in self.skip_filter_plugins

    def clone(self) -> AttemptState:
        """An independent copy for a trial."""
        copy = self._copied_to(AttemptState(sampled=self.sampled))
        copy.skip_filter_plugins, copy.skip_score_plugins = self.skip_filter_plugins, self.skip_score_plugins
        copy.within, copy.consultation = self.within, self.consultation
        return copy
