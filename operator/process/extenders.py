"""The extenders of a process: created from its configuration, and closed with the process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from muster.operator.kube.extender import HttpExtender, Surroundings
from muster.operator.kube.whole import WholeObjects, is_sent_nodes, whole_nodes

if TYPE_CHECKING:
    from muster.framework.config import KubeSchedulerConfiguration
    from muster.operator.kube.informer import Informer, Timing

    from .writers import Writers


class Extenders:
    """The extenders; create and close them on one event loop. Raises ConfigurationError for unusable TLS files.

    Attributes:
        all: the extenders, in the order in which they are called.
        informers: the informers that they need, by names for users: of whole nodes, if one is sent nodes.
    """

    def __init__(self, configuration: KubeSchedulerConfiguration, writers: Writers, timing: Timing) -> None:
        """`timing` is the timing of the informers."""
        nodes = whole_nodes(writers.client, timing) if any(map(is_sent_nodes, configuration.extenders)) else None
        surroundings = Surroundings(
            objects=WholeObjects(writers.client, nodes),
            may_write=writers.client.may_write,
            before_bind=writers.conditions.withdraw,
        )
        paths = {id(extender): f"extenders[{index}]" for index, extender in enumerate(configuration.extenders)}
        self.informers: dict[str, Informer[Any]] = {} if nodes is None else {"nodes for extenders": nodes}
        self.all = [HttpExtender(each, surroundings, paths[id(each)]) for each in configuration.ordered_extenders]

    async def close(self) -> None:
        """Close their connections."""
        await asyncio.gather(*(extender.close() for extender in self.all))
