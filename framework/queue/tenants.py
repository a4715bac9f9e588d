"""Tenants: whose turn it is among namespaces that share a cluster, above the order that holds within each of them.

A plugin may divide the pods among tenants, and say of each tenant how early its turn is (`TenantOrderPlugin`). activeQ
and the woken batches are then one heap for each tenant, ordered as ever. The tenants are ordered by their turns, and
where these are equal by the sort keys of their first items. Turns are kept, and asked again only for tenants whose
turn may have changed, or whose first pod has another signature. Without such a plugin, or before it knows a tenant,
there is one heap and no more cost.

Guarantee: of the tenants with items in a heap, one that was not served for `PATIENCE_SECONDS` is next, the one that
waits longest first. So an active pod waits no longer than that and a decision for each other tenant, and a woken one no
longer than twice as long.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from ..model.pod_info import PodInfo, PodSignature
from .sub_queues import LazyHeap

PATIENCE_SECONDS = 30.0

Turn = tuple[float, ...]
"""Smaller is earlier; () is the earliest."""


class TenantOrder(Protocol):
    """The queue's questions about tenants. `Profiles` implements it for the plugins of all profiles."""

    def tenants_moved(self) -> Sequence[str] | None:
        """The tenants whose turn may have changed since the last call; None if pods may have other tenants now."""
        ...

    def tenant_of(self, namespace: str) -> str:
        """The tenant of the pods in a namespace; "" for none."""
        ...

    def turn_of(self, tenant: str, pod: PodInfo) -> Turn:
        """How early the turn of the tenant is, whose first pod this is."""
        ...


class Queued(Protocol):
    """An item of a heap by tenant; the heap keeps the tenant in it."""

    ticket: int
    sort_key: tuple[Hashable, ...]
    tenant: str


T = TypeVar("T", bound=Queued)


class _Tenant(Generic[T]):
    """The items of one tenant.

    Attributes:
        heap: by their sort keys.
        turn: as of the last question.
        asked_for: the signature of the pod with which that was asked; None before it.
        ticket: see `LazyHeap`.
    """

    __slots__ = ("asked_for", "heap", "name", "ticket", "turn")

    def __init__(self, name: str) -> None:
        self.name = name
        self.heap: LazyHeap[T] = LazyHeap()
        self.turn: Turn = ()
        self.asked_for: PodSignature | None = None
        self.ticket = 0


class TenantHeap(Generic[T]):
    """Items by turn of their tenant and by key. `first_pod` returns the pod that stands for an item, if it has any."""

    __slots__ = ("_by_turn", "_first_pod", "_length", "_order", "_served", "_stale", "_tenants", "_uses_tenants")

    def __init__(self, order: TenantOrder | None, first_pod: Callable[[T], PodInfo | None]) -> None:
        self._order = order
        self._first_pod = first_pod
        self._uses_tenants = False
        self._length = 0
        self._tenants: dict[str, _Tenant[T]] = {}
        self._by_turn: LazyHeap[_Tenant[T]] = LazyHeap()
        self._stale: dict[str, bool] = {}  # whether the turn may have changed, not the first item alone
        self._served: dict[str, float] = {}

    def __len__(self) -> int:
        return self._length

    def push(self, key: tuple[Hashable, ...], item: T) -> None:
        """Add an item that is in no heap; `key` is its sort key."""
        name = self._tenant_of(item)
        tenant = self._tenants.get(name)
        if tenant is None:
            tenant = self._tenants[name] = _Tenant(name)
        item.tenant = name
        tenant.heap.push(key, item)
        self._length += 1
        if self._uses_tenants:
            self._stale.setdefault(name, False)

    def discard(self, item: T) -> None:
        """Take out an item that is in this heap."""
        tenant = self._tenants[item.tenant]
        tenant.heap.discard(item)
        self._length -= 1
        if self._uses_tenants:
            self._stale.setdefault(item.tenant, False)

    def peek(self, now: float) -> T | None:
        """The item whose turn it is at `now`, left where it is; None if there is none."""
        tenant = self._next(now)
        return None if tenant is None else tenant.heap.peek()

    def pop(self, now: float) -> T | None:
        """Take out the item whose turn it is at `now`; None if there is none."""
        item = self.peek(now)
        if item is not None:
            self.discard(item)
        return item

    def is_overdue(self, now: float) -> bool:
        """Whether the next item is that of a tenant that has waited long, whatever its turn."""
        return self._next(now) is not None and self._overdue(now) is not None

    def serve(self, item: T, now: float) -> None:
        """The item, which was taken out, is tried: its tenant has had its turn."""
        if item.tenant in self._served:
            del self._served[item.tenant]
            self._served[item.tenant] = now

    def order_of(self, item: T) -> tuple[Turn, tuple[Hashable, ...]]:
        """The turn of the item's tenant, and its sort key: items of two heaps with one order are compared by both."""
        tenant = self._tenants.get(item.tenant)
        return (() if tenant is None else tenant.turn), item.sort_key

    def moved(self, tenants: Sequence[str] | None) -> None:
        """The turns of these tenants may have changed; None if items may have other tenants."""
        if tenants is not None:
            for name in tenants:
                if name in self._tenants:
                    self._stale[name] = True
            return
        items = [*self._items()]
        self._uses_tenants, self._length = True, 0
        self._tenants, self._by_turn, self._stale = {}, LazyHeap(), {}
        for item in items:
            self.push(item.sort_key, item)
        self._served = {name: since for name, since in self._served.items() if name in self._tenants}

    def _items(self) -> Iterator[T]:
        for tenant in self._tenants.values():
            yield from tenant.heap.items()

    def _next(self, now: float) -> _Tenant[T] | None:
        if not self._uses_tenants:
            return self._tenants.get("")
        self._refresh(now)
        return self._overdue(now) or self._by_turn.peek()

    def _overdue(self, now: float) -> _Tenant[T] | None:
        longest, since = next(iter(self._served.items()), ("", now))
        is_overdue = now - since >= PATIENCE_SECONDS and len(self._served) > 1
        return self._tenants[longest] if is_overdue else None

    def _tenant_of(self, item: T) -> str:
        pod = self._first_pod(item) if self._uses_tenants else None
        return "" if self._order is None or pod is None else self._order.tenant_of(pod.namespace)

    def _refresh(self, now: float) -> None:
        """Ask for the turns that may have changed."""
        stale, self._stale = self._stale, {}
        for name, moved in stale.items():
            tenant = self._tenants.get(name)
            if tenant is None:
                continue
            if tenant.ticket:
                self._by_turn.discard(tenant)
            first = tenant.heap.peek()
            if first is None:
                del self._tenants[name]
                self._served.pop(name, None)
                continue
            self._served.setdefault(name, now)
            pod = self._first_pod(first) if name else None
            if pod is not None and (moved or pod.signature is not tenant.asked_for):
                self._ask(tenant, pod)
            self._by_turn.push((tenant.turn, first.sort_key), tenant)

    def _ask(self, tenant: _Tenant[T], pod: PodInfo) -> None:
        if self._order is not None:
            tenant.turn, tenant.asked_for = self._order.turn_of(tenant.name, pod), pod.signature
