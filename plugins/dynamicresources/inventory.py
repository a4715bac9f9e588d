"""The inventory: which pools each node can use, and a key that is equal for nodes with equal devices in equal state.

Its inputs are slices, taint rules and allocations; a journal of rows names the nodes to look at again. Most slices
belong to one node. A change of any other slice concerns all nodes, so all rows count as changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from itertools import count

from muster.framework.contract import SnapshotReader
from muster.framework.contract.columns import Journal
from muster.framework.model.devices import DeviceTaint, DeviceTaintRule, ResourceSlice

from .devices import SliceDevices
from .pools import Pool, PoolId, gather, pool_id, whole_pool
from .search import Site
from .use import DeviceUse

_MAX_STATES = 65536
"""The number of distinct states of pools after which they are numbered afresh."""

_MAX_STATES_OF_ITS_OWN = 16


class Inventory:
    """Pools by node. `snapshot` gives the rows and labels of nodes.

    Attributes:
        use: what is allocated.
        changes: rows whose node has other devices, or devices in another state.
        epoch: grows when that may be so for any row.
    """

    def __init__(self, snapshot: SnapshotReader) -> None:
        self.use = DeviceUse(self._used)
        self.changes = Journal()
        self.epoch = 0
        self._snapshot = snapshot
        self._slices: dict[str, SliceDevices] = {}
        self._rules: dict[str, DeviceTaintRule] = {}
        self._members: defaultdict[PoolId, dict[str, SliceDevices]] = defaultdict(dict)
        self._local: defaultdict[str, dict[str, SliceDevices]] = defaultdict(dict)
        self._shared: dict[str, SliceDevices] = {}
        self._sites: dict[str, tuple[Mapping[str, str], Site]] = {}
        self._pools: dict[tuple[int, ...], Pool] = {}
        self._numbers = count()
        self._states: dict[Hashable, int] = {}

    def site(self, row: int) -> Site:
        """The node in `row` with its pools."""
        snapshot = self._snapshot
        name, node = snapshot.names[row], snapshot.nodes[row]
        labels = node.metadata.labels if node is not None else {}
        known = self._sites.get(name)
        if known is not None and (known[0] is labels or known[0] == labels):
            return known[1]
        local = self._local.get(name, {})
        gathered = gather(name, labels, [*local.values(), *self._shared.values()], self._members_of)
        pools = sorted(map(self._pool, gathered), key=lambda pool: pool.binding_conditions)
        site = Site(name, labels, pools)
        if len(self._sites) > snapshot.node_count:
            self._sites = {each: kept for each, kept in self._sites.items() if snapshot.live_row_of(each) is not None}
        self._sites[name] = labels, site
        return site

    def state(self, site: Site) -> Hashable:
        """Equal for sites on which the same can be allocated at the same places."""
        numbers = tuple([self._state(pool) for pool in site.pools])
        if any(pool.per_node for pool in site.pools):
            return numbers, site.name, tuple(sorted(site.labels.items()))
        return numbers

    def saw_slice(self, found: ResourceSlice) -> None:
        """Add or replace a slice."""
        known = self._slices.get(found.metadata.name)
        if known is None or known.slice is not found:
            if known is not None:
                self.lost_slice(known.slice)
            self._put(SliceDevices(found, self._taints(found)))

    def lost_slice(self, gone: ResourceSlice) -> None:
        """Remove a slice."""
        known = self._slices.pop(gone.metadata.name, None)
        if known is None:
            return
        name, spec = known.slice.metadata.name, known.slice.spec
        members = self._members[pool_id(known)]
        members.pop(name, None)
        if not members:
            del self._members[pool_id(known)]
        if spec.node_name:
            local = self._local[spec.node_name]
            local.pop(name, None)
            if not local:
                del self._local[spec.node_name]
        else:
            self._shared.pop(name, None)
        self._changed(known)

    def saw_rule(self, found: DeviceTaintRule) -> None:
        """Add or replace a taint rule."""
        if self._rules.get(found.metadata.name) is not found:
            self._rules[found.metadata.name] = found
            self._taint_anew()

    def lost_rule(self, gone: DeviceTaintRule) -> None:
        """Remove a taint rule."""
        if self._rules.pop(gone.metadata.name, None) is not None:
            self._taint_anew()

    def _members_of(self, pool: PoolId) -> list[SliceDevices]:
        return list(self._members.get(pool, {}).values())

    def _put(self, each: SliceDevices) -> None:
        name, spec = each.slice.metadata.name, each.slice.spec
        self._slices[name] = each
        self._members[pool_id(each)][name] = each
        if spec.node_name:
            self._local[spec.node_name][name] = each
        else:
            self._shared[name] = each
        self._changed(each)

    def _changed(self, each: SliceDevices) -> None:
        """Forget the pools of the nodes with this pool, of which a slice was added, changed or removed."""
        members = [each, *self._members_of(pool_id(each))]
        if all(member.slice.spec.node_name for member in members):
            for member in members:
                self._sites.pop(str(member.slice.spec.node_name), None)
        else:
            self._sites.clear()
            self._pools.clear()
        self._touch(members)

    def _used(self, pool: PoolId) -> None:
        self._touch(self._members_of(pool))

    def _touch(self, members: list[SliceDevices]) -> None:
        """Mark the nodes that these slices are for as changed."""
        if any(not member.slice.spec.node_name for member in members):
            self.epoch += 1
            return
        for name in {str(member.slice.spec.node_name) for member in members}:
            row = self._snapshot.row_of(name)
            if row is not None:
                self.changes.record(row)

    def _taint_anew(self) -> None:
        for known in list(self._slices.values()):
            taints = self._taints(known.slice)
            if taints or any(
                d.device is not api for d, api in zip(known.devices, known.slice.spec.devices, strict=True)
            ):
                self.lost_slice(known.slice)
                self._put(SliceDevices(known.slice, taints))

    def _taints(self, each: ResourceSlice) -> Mapping[str, tuple[DeviceTaint, ...]]:
        """The taints that rules add, by name of the device."""
        added: defaultdict[str, tuple[DeviceTaint, ...]] = defaultdict(tuple)
        for rule in self._rules.values():
            selector = rule.spec.device_selector
            if selector is None or selector.driver not in (None, each.spec.driver):
                continue
            if selector.pool not in (None, each.spec.pool.name):
                continue
            for device in each.spec.devices:
                if selector.device in (None, device.name):
                    added[device.name] += (rule.spec.taint,)
        return added

    def _pool(self, slices: list[SliceDevices]) -> Pool:
        """The pool that these slices make up; one for all nodes that see the same."""
        id_ = pool_id(slices[0])
        whole = whole_pool(slices, self._members_of(id_))
        if all(each.slice.spec.node_name for each in slices):
            return Pool(id_, slices, whole)
        key = (*map(id, slices), 0, *map(id, whole))
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = Pool(id_, slices, whole)
        return pool

    def _state(self, pool: Pool) -> int:
        revision = self.use.revision(pool.id)
        if pool.state[0] != revision:
            pool.state = revision, self._number(pool) if pool.plain else self._number_of_its_own(pool)
        return pool.state[1]

    def _number_of_its_own(self, pool: Pool) -> int:
        """A number for the pool's current allocations, distinct from any other; restored when a trial is undone."""
        use = self.use
        state = frozenset(
            (id_, use.shared(id_), *sorted(use.consumed(id_).items())) for id_ in pool.ids() if use.allocated(id_)
        )
        if len(pool.states) >= _MAX_STATES_OF_ITS_OWN:
            pool.states.clear()
        return pool.states.setdefault(state, next(self._numbers))

    def _number(self, pool: Pool) -> int:
        use = self.use
        state = (
            pool.id.driver,
            pool.binding_conditions,
            tuple(
                tuple([(d.content, use.taken(d.id), tuple(sorted(use.consumed(d.id).items()))) for d in each.devices])
                for each in pool.slices
            ),
        )
        if len(self._states) >= _MAX_STATES:
            self._states.clear()
        number = self._states.get(state)
        if number is None:
            number = self._states[state] = next(self._numbers)
        return number
