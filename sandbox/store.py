"""The verbs of the API on stored objects: create, get, list, update, patch, delete, as kube-apiserver does them.

The HTTP edge calls it for every request, and code that holds a `Sandbox` may call it directly, from the thread that
runs the sandbox's event loop. Everything is synchronous and complete when a method returns. Refusals are `ApiError`.
Objects passed in are not changed; objects returned must not be changed.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from muster.framework.model.times import rfc3339
from muster.sandbox import admission, errors, incoming, lifecycle, patching, rules
from muster.sandbox.clock import Generators
from muster.sandbox.custom_resources import kinds_of
from muster.sandbox.incoming import WriteOptions
from muster.sandbox.kinds import CUSTOM_RESOURCE_DEFINITIONS, KINDS
from muster.sandbox.ledger import Entry, Ledger, key_of
from muster.sandbox.lifecycle import PLAIN_DELETE, DeleteOptions, Deletion
from muster.sandbox.listing import WHOLE_LIST, ListOptions, Page, Pager
from muster.sandbox.objects import Object, compact, metadata, name_of, namespace_of, with_metadata
from muster.sandbox.registry import Kind, Registry, stored_as
from muster.sandbox.rules import syntax
from muster.sandbox.selectors import EVERYTHING, Selection

_GENERATED_BASE_LIMIT = 58

_PLAIN = WriteOptions()


class ObjectStore:
    """All objects of one sandbox, and the rules for changing them."""

    def __init__(self, ledger: Ledger, sources: Generators, kinds: Iterable[Kind] = KINDS) -> None:
        self.ledger = ledger
        self.sources = sources
        self.kinds = Registry(kinds)
        self._pager = Pager(ledger)

    @property
    def now(self) -> str:
        """The time as objects carry it."""
        return rfc3339(self.sources.clock())

    def find(self, kind: Kind, name: str, *, namespace: str = "") -> Entry | None:
        """The newest version of an object, or None."""
        entry = self.ledger.get(stored_as(kind), key_of(namespace, name))
        return entry and self.seen(kind, entry)

    def get(self, kind: Kind, name: str, *, namespace: str = "") -> Entry:
        """The newest version of an object; 404 if there is none."""
        entry = self.find(kind, name, namespace=namespace)
        if entry is None:
            raise errors.not_found(kind, name)
        return entry

    def list(
        self, kind: Kind, *, namespace: str = "", selection: Selection = EVERYTHING, options: ListOptions = WHOLE_LIST
    ) -> Page:
        """A page of the selected objects in key order, all of them unless `options` sets a limit."""
        page = self._pager.page(stored_as(kind), namespace, selection, options)
        return page if not kind.view_of else page.mapped(lambda entry: self.seen(kind, entry))

    def objects(self, kind: Kind, *, namespace: str = "", selection: Selection = EVERYTHING) -> Iterator[Object]:
        """The selected objects themselves, for callers in the same process."""
        return (entry.obj for entry in self.list(kind, namespace=namespace, selection=selection).entries)

    def create(self, kind: Kind, obj: Object, *, namespace: str = "", options: WriteOptions = _PLAIN) -> Entry:
        """Stores a new object. `namespace` is that of the request; the object may leave its own out."""
        obj = incoming.addressed(kind, obj, namespace)
        obj = compact(kind, incoming.decoded(kind, obj, options))
        obj = admission.admit(self, kind, self._named(obj))
        rule = rules.of(kind)
        obj = self._born(kind, rule.complete(rules.to_stored(kind, obj)))
        obj = rule.begin(obj, self.now)
        self._refuse_if_wrong(
            kind, obj, syntax.validate_metadata(obj, rule.valid_name), rule.validate(obj), rule.validate_create(obj)
        )
        known = self.find(kind, name_of(obj), namespace=namespace_of(obj))
        if known is not None:
            deleting = "deletionTimestamp" in metadata(known.obj)
            raise errors.already_exists(kind, name_of(obj), deleting=deleting)
        return self._commit(kind, obj, options)

    def update(
        self, kind: Kind, name: str, obj: Object, *, namespace: str = "", options: WriteOptions = _PLAIN
    ) -> Entry:
        """Replaces an object, or the part of it that `options.subresource` names."""
        obj = incoming.decoded(kind, incoming.addressed(kind, obj, namespace), options)
        if name_of(obj) != name:
            message = f"the name of the object ({name_of(obj)}) does not match the name on the URL ({name})"
            raise errors.bad_request(message)
        if self.find(kind, name, namespace=namespace) is None:
            if not kind.create_on_update:
                raise errors.not_found(kind, name)
            return self.create(kind, obj, namespace=namespace, options=options)
        if not metadata(obj).get("resourceVersion") and not kind.unconditional_update:
            reason = "must be specified for an update"
            wrong = errors.InvalidField(errors.INVALID, "metadata.resourceVersion", reason, value=0)
            raise errors.invalid_of(kind.resource, name, [wrong], group=kind.group)
        return self._change(kind, name, namespace, lambda current: obj, options=options)

    def patch(
        self,
        kind: Kind,
        name: str,
        patch: Any,
        content_type: str,
        *,
        namespace: str = "",
        options: WriteOptions = _PLAIN,
    ) -> Entry:
        """Changes an object by a patch of one of the four formats; an apply patch creates a missing object."""
        if content_type == patching.APPLY:
            return self._apply(kind, name, namespace, patch, options=options)

        def transform(current: Object) -> Object:
            new = patching.patched(kind, content_type, current, patch)
            return incoming.decoded_patch(kind, new, patch if content_type == patching.STRATEGIC else None, options)

        return self._change(kind, name, namespace, transform, options=options)

    def delete(self, kind: Kind, name: str, *, namespace: str = "", options: DeleteOptions = PLAIN_DELETE) -> Deletion:
        """Deletes an object, or marks it as being deleted where finalizers or a grace period hold it."""
        entry = self.get(kind, name, namespace=namespace)
        lifecycle.check_delete_preconditions(kind, entry.obj, options)
        plan = lifecycle.plan(stored_as(kind), self._stored(kind, entry).obj, options, self.sources.clock())
        if options.orphan and not options.dry_run:
            self._orphan(entry.obj)
        if plan.marked is not None:
            entry = self._commit(kind, plan.marked, WriteOptions(options.dry_run))
        if plan.remove and not options.dry_run:
            entry = self._remove(kind, entry)
        return Deletion(entry, gone=plan.remove)

    def forget(self) -> None:
        """Drops the history that watches and unfinished lists continue from, as a compaction does: they get 410."""
        self.ledger.forget()
        self._pager.forget()

    def replace_stored(self, kind: Kind, obj: Object) -> Entry:
        """Writes an object as it stands, with no rule applied: for loading dumps, and for the kubelet's part."""
        entry = self.ledger.put(kind, obj)
        if kind is CUSTOM_RESOURCE_DEFINITIONS:
            self.kinds.define(kinds_of(obj))
        return entry

    def seen(self, kind: Kind, entry: Entry) -> Entry:
        """A stored entry in the form that `kind` shows it in."""
        return entry.seen_as(kind, lambda obj: rules.to_view(kind, obj)) if kind.view_of else entry

    def _remove(self, kind: Kind, entry: Entry) -> Entry:
        """Removes an object, and with a definition all objects that it defines."""
        if kind is CUSTOM_RESOURCE_DEFINITIONS:
            for defined in kinds_of(entry.obj):
                known = self.kinds.by_path(defined.group, defined.version, defined.resource)
                if known is not None:
                    for item in self.ledger.entries(stored_as(known)):
                        self.ledger.remove(stored_as(known), item.key)
                    self.kinds.undefine(known)
        return self.seen(kind, self.ledger.remove(stored_as(kind), entry.key))

    def _orphan(self, owner: Object) -> None:
        """Removes the references to an owner from its objects, so that they are not deleted with it."""
        uid = metadata(owner)["uid"]
        for kind in self.kinds:
            for entry in self.ledger.entries(kind, namespace_of(owner)) if kind.namespaced else ():
                owners = metadata(entry.obj).get("ownerReferences") or []
                kept = [reference for reference in owners if reference["uid"] != uid]
                if kept != owners:
                    self.replace_stored(kind, with_metadata(entry.obj, ownerReferences=kept or None))

    def _stored(self, kind: Kind, entry: Entry) -> Entry:
        stored = self.ledger.get(stored_as(kind), entry.key)
        if stored is None:
            raise errors.not_found(kind, name_of(entry.obj))
        return stored

    def _change(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        transform: Callable[[Object], Object],
        *,
        options: WriteOptions,
        applied: bool = False,
    ) -> Entry:
        """The way of every write to an existing object: transform, settle, validate, compare, commit.

        `applied` says that the transformation has seen to the field managers itself.
        """
        entry = self.get(kind, name, namespace=namespace)
        new = compact(kind, transform(entry.obj))
        if name_of(new) != name:
            raise errors.bad_request(
                f"the name of the object ({name_of(new)}) does not match the name on the URL ({name})"
            )
        lifecycle.check_update_preconditions(kind, new, entry)
        rule = rules.of(kind)
        old = self._stored(kind, entry).obj
        if not options.subresource:
            new = admission.admit_update(kind, new, old)
        new = rule.complete(rules.to_stored(kind, new))
        new = lifecycle.settled(kind, new, old, options.subresource)
        if not applied:
            new = patching.record_update(stored_as(kind), old, new, self._writer(options))
        self._refuse_if_wrong(
            kind,
            new,
            syntax.validate_metadata(new, rule.valid_name),
            syntax.validate_metadata_update(new, old),
            rule.validate(new),
            rule.validate_update(new, old),
        )
        if lifecycle.is_finished(new) and not options.dry_run:
            return self._remove(kind, entry)
        if new == old:
            return entry
        return self._commit(kind, new, options)

    def _apply(self, kind: Kind, name: str, namespace: str, config: Object, *, options: WriteOptions) -> Entry:
        if not config.get("apiVersion") or not config.get("kind"):
            raise errors.bad_request(f"invalid object type: {config.get('apiVersion')}, Kind={config.get('kind')}")
        config = lifecycle.applied_part(
            kind,
            incoming.decoded_config(kind, incoming.addressed(kind, config, namespace), given=config),
            options.subresource,
        )
        writer = self._writer(options)
        if self.find(kind, name, namespace=namespace) is None:
            if options.subresource or metadata(config).get("uid"):
                raise errors.not_found(kind, name)
            owned = patching.apply(kind, {}, config, writer)
            return self.create(kind, config | owned, namespace=namespace, options=options)

        def transform(current: Object) -> Object:
            return patching.apply(kind, current, config, writer, force=options.force)

        return self._change(kind, name, namespace, transform, options=options, applied=True)

    def _writer(self, options: WriteOptions) -> patching.Writer:
        return patching.Writer(options.manager, self.now, options.subresource)

    def _named(self, obj: Object) -> Object:
        base = metadata(obj).get("generateName")
        if name_of(obj) or not base:
            return obj
        return with_metadata(obj, name=base[:_GENERATED_BASE_LIMIT] + self.sources.suffix())

    def _born(self, kind: Kind, obj: Object) -> Object:
        return with_metadata(
            obj,
            uid=self.sources.uid(),
            creationTimestamp=self.now,
            generation=1 if kind.generation else None,
            resourceVersion=None,
            deletionTimestamp=None,
            deletionGracePeriodSeconds=None,
        )

    def _refuse_if_wrong(self, kind: Kind, obj: Object, *findings: Any) -> None:
        wrong = [error for finding in findings for error in finding]
        if wrong:
            raise errors.invalid(kind, name_of(obj), wrong)

    def _commit(self, kind: Kind, obj: Object, options: WriteOptions) -> Entry:
        """Writes a stored-form object and returns it as `kind` shows it; a dry run only pretends."""
        stored = stored_as(kind)
        if options.dry_run:
            return self.seen(kind, Entry(stored, key_of(namespace_of(obj), name_of(obj)), 0, obj))
        return self.seen(kind, self.replace_stored(stored, obj))
