"""Together: where the members of a group are, by what its topology and its slices ask for.

The judge looks at domains with each Binding, and at slices at rest. A group of which another scheduler has bound a
member is left out: nobody can put its members together again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator

from muster.sandbox.kinds import NODES

from .claimants import domain_of, groups, holders, waiting
from .server import SimulatedServer
from .traits import rule_of
from .world import group_of


def split_domains(server: SimulatedServer, name: str) -> Iterator[str]:
    """What is wrong with a group whose members are in several domains of what it requires."""
    group = groups(server).get(name)
    levels = () if group is None else rule_of(group).levels
    if levels:
        nodes = {node["metadata"]["name"]: node for node in server.objects(NODES)}
        domains = {domain_of(nodes[pod["spec"]["nodeName"]], levels) for pod in holders(server)[name]}
        if len(domains) > 1:
            yield f"members of {name} are in {sorted(map(str, domains))}, which have to agree on {', '.join(levels)}"


def split_slices(server: SimulatedServer, apart: Container[str]) -> Iterator[str]:
    """The groups all of whose members have nodes and of whose slices more than one is incomplete.

    `apart` are those of which somebody else took members or gave some: slices lose members then.
    """
    nodes = {node["metadata"]["name"]: node for node in server.objects(NODES)}
    wait = {group_of(pod) for pod in waiting(server)}
    members = holders(server)
    for name, group in groups(server).items():
        rule = rule_of(group)
        if rule.slice_size and name not in apart and name not in wait:
            parts = Counter(domain_of(nodes[pod["spec"]["nodeName"]], [rule.slice_level]) for pod in members[name])
            if sum(count % rule.slice_size > 0 for count in parts.values()) > 1:
                yield f"slices of {rule.slice_size} of {name} are split: {dict(parts)}"
