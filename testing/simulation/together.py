"""Whether the members of a group are together, as its topology and its slices require.

The judge checks domains at each Binding, and slices at rest. A group of which another scheduler has bound a member is
left out, because no placement of the others can bring its members together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator

from muster.sandbox.kinds import NODES
from muster.sandbox.objects import Object

from .claimants import domain_of, groups, holders, waiting
from .members import group_of
from .server import SimulatedServer
from .traits import rule_of
from .trees import Trees


def split_domains(server: SimulatedServer, name: str, apart: Container[str] = ()) -> Iterator[str]:
    """The problems of a group, or of a tree that it is in, whose members are in several domains of what it requires.

    `apart` are those of which somebody else took members or gave some.
    """
    group, trees = groups(server).get(name), Trees(server)
    asks = {} if group is None else {name: rule_of(group).levels}
    for each, levels in (asks | {above: trees.levels(above) for above in trees.above(name)}).items():
        leaves = [*trees.leaves(each)]
        if not levels or any(leaf in apart for leaf in leaves):
            continue
        domains = {domain_of(node, levels) for leaf in leaves for node in _nodes_of(server, leaf)}
        if len(domains) > 1:
            yield f"members of {each} are in {sorted(map(str, domains))}, which have to agree on {', '.join(levels)}"


def split_slices(server: SimulatedServer, apart: Container[str]) -> Iterator[str]:
    """The groups all of whose members have nodes and of whose slices more than one is incomplete.

    `apart` are those of which somebody else took members or gave some: slices lose members then.
    """
    wait = {group_of(pod) for pod in waiting(server)}
    for name, group in groups(server).items():
        rule = rule_of(group)
        if rule.slice_size and name not in apart and name not in wait:
            parts = Counter(domain_of(node, [rule.slice_level]) for node in _nodes_of(server, name))
            if sum(count % rule.slice_size > 0 for count in parts.values()) > 1:
                yield f"slices of {rule.slice_size} of {name} are split: {dict(parts)}"


def _nodes_of(server: SimulatedServer, name: str) -> list[Object]:
    """The node of each member of a group; a node that goes just before a Binding to it arrives is nowhere.

    A pod that is being deleted is a member no more: its successors may be elsewhere.
    """
    nodes = {node["metadata"]["name"]: node for node in server.objects(NODES)}
    on = (pod["spec"]["nodeName"] for pod in holders(server)[name] if "deletionTimestamp" not in pod["metadata"])
    return [nodes[node] for node in on if node in nodes]
