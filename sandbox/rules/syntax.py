"""The spelling of names, labels and keys, and what holds for the metadata of every object.

The sentences are those that kube-apiserver refuses a wrong text with. A check returns the reasons against a text, none
if it is well formed.
"""

import re
from collections.abc import Callable, Iterator

from muster.sandbox.errors import FORBIDDEN, INVALID, REQUIRED, InvalidField
from muster.sandbox.objects import Object, metadata

Check = Callable[[str], list[str]]

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_DNS_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_NAME_PART_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def dns_label(text: str) -> list[str]:
    """A DNS label of at most 63 characters: namespaces, containers."""
    return _limited(text, _LABEL, _LABEL_TEXT, 63)


def dns_subdomain(text: str) -> list[str]:
    """A DNS subdomain of at most 253 characters: the names of most kinds."""
    return _limited(text, _SUBDOMAIN, _SUBDOMAIN_TEXT, 253)


def dns_1035_label(text: str) -> list[str]:
    """A DNS label that starts with a letter: services."""
    return _limited(text, _DNS_1035, _DNS_1035_TEXT, 63)


def qualified_name(text: str) -> list[str]:
    """A label key or scheduling gate: `name` or `prefix/name`."""
    prefix, slash, name = text.rpartition("/")
    reasons: list[str] = []
    if slash and not prefix:
        reasons.append("prefix part must be non-empty")
    elif slash:
        reasons += [f"prefix part {reason}" for reason in dns_subdomain(prefix)]
    if not name:
        reasons.append("name part must be non-empty")
    elif len(name) > 63:
        reasons.append("name part must be no more than 63 bytes")
    if not re.fullmatch(_QUALIFIED, name):
        reasons.append(_NAME_PART_TEXT)
    return reasons


def label_value(text: str) -> list[str]:
    """The value of a label."""
    return _limited(text, f"({_QUALIFIED})?", _VALUE_TEXT, 63)


def path_segment(text: str) -> list[str]:
    """Anything that can stand in a URL: names of events, which old clients make up freely."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{mark}'" for mark in "/%" if mark in text]


def _limited(text: str, pattern: str, sentence: str, limit: int) -> list[str]:
    reasons = [f"must be no more than {limit} bytes"] if len(text) > limit else []
    return reasons if re.fullmatch(pattern, text) else [*reasons, sentence]


_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid")


def validate_metadata(obj: Object, valid_name: Check) -> Iterator[InvalidField]:
    """The problems with the metadata of an object whose name has to pass `valid_name`."""
    fields = metadata(obj)
    name = fields.get("name")
    if not name:
        yield InvalidField(REQUIRED, "metadata.name", "name or generateName is required")
    else:
        for reason in valid_name(name):
            yield InvalidField(INVALID, "metadata.name", reason, value=name)
    yield from labels(fields.get("labels"), "metadata.labels")
    for key in fields.get("annotations") or {}:
        for reason in qualified_name(key.lower()):
            yield InvalidField(INVALID, "metadata.annotations", reason, value=key)
    for index, owner in enumerate(fields.get("ownerReferences") or ()):
        for field in _OWNER_FIELDS:
            if not owner.get(field):
                yield InvalidField(REQUIRED, f"metadata.ownerReferences[{index}].{field}", "must not be empty")


def validate_metadata_update(new: Object, old: Object) -> Iterator[InvalidField]:
    """The problems with a change of the metadata; names and system fields are settled before."""
    if metadata(old).get("deletionTimestamp"):
        known = metadata(old).get("finalizers") or []
        added = [item for item in metadata(new).get("finalizers") or [] if item not in known]
        if added:
            reason = f"no new finalizers can be added if the object is being deleted, found new finalizers {added}"
            yield InvalidField(FORBIDDEN, "metadata.finalizers", reason.replace("'", '"'))


def labels(labels: Object | None, path: str) -> Iterator[InvalidField]:
    """The problems with the keys and values of a map of labels."""
    for key, value in (labels or {}).items():
        for reason in qualified_name(key):
            yield InvalidField(INVALID, path, reason, value=key)
        for reason in label_value(value):
            yield InvalidField(INVALID, path, reason, value=value)
