"""Rules for names in the API and the configuration: label keys and values, DNS subdomains, extended resources.

Called by node selectors and by the validation of plugin arguments and extenders. Functions that end in `_faults` return
a list of problems, in the API machinery's words; an empty list means a valid name. Lengths count bytes.
"""

import re

PREFIX = "muster-scheduler.io/"
"""The prefix of the annotations and labels that only Muster reads."""

_KEY = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"

_KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    f" (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    f" end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    f" '{_VALUE}')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    f" end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LONGEST_NAME = 63
_LONGEST_SUBDOMAIN = 253
_SHORT_KEY = re.compile(f"({_SUBDOMAIN}/)?{_KEY}")


def is_label_key(key: str) -> bool:
    """Whether `label_key_faults` finds nothing; fast, for a pod may name thousands."""
    return (len(key) <= _LONGEST_NAME and _SHORT_KEY.fullmatch(key) is not None) or not label_key_faults(key)


def is_label_value(value: str) -> bool:
    """Whether `label_value_faults` finds nothing; fast, for a pod may name thousands."""
    if len(value) <= _LONGEST_NAME and value.isalnum() and value.isascii():
        return True
    return not label_value_faults(value)


def label_key_faults(key: str) -> list[str]:
    """The problems with a label key, also called a qualified name: `[DNS subdomain/]name`."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_KEY_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    faults = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        faults.extend(f"prefix part {fault}" for fault in subdomain_faults(prefix))
    if not name:
        faults.append("name part must be non-empty")
    elif _too_long(name, _LONGEST_NAME):
        faults.append(f"name part must be no more than {_LONGEST_NAME} bytes")
    if not re.fullmatch(_KEY, name):
        faults.append(f"name part {_KEY_RULE}")
    return faults


def label_value_faults(value: str) -> list[str]:
    """The problems with a label value."""
    faults = []
    if _too_long(value, _LONGEST_NAME):
        faults.append(f"must be no more than {_LONGEST_NAME} bytes")
    if not re.fullmatch(_VALUE, value):
        faults.append(_VALUE_RULE)
    return faults


def subdomain_faults(name: str) -> list[str]:
    """The problems with a DNS subdomain."""
    faults = []
    if _too_long(name, _LONGEST_SUBDOMAIN):
        faults.append(f"must be no more than {_LONGEST_SUBDOMAIN} bytes")
    if not re.fullmatch(_SUBDOMAIN, name):
        faults.append(_SUBDOMAIN_RULE)
    return faults


def is_extended_resource(name: str) -> bool:
    """Whether a valid qualified name may name a resource that device plugins or extenders offer."""
    native = "/" not in name or "kubernetes.io/" in name
    if native or name.startswith("requests."):
        return False
    return is_label_key(name) if len(name) <= _LONGEST_NAME else not label_key_faults(f"requests.{name}")


def _too_long(text: str, limit: int) -> bool:
    return len(text.encode()) > limit
