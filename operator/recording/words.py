"""Replacements for the words of a recording that an organisation chose, in the same order.

A word begins with a letter and continues with letters and digits. Each chosen word has one replacement. The text
between words is kept, and so are separate numbers, as in "node-10". So names sort as before, and a name that consists
of two others becomes their two replacements. Keys of Kubernetes and of Muster are kept; other keys sort before or after
them as before.

In a first pass, every text is passed once and its words are collected; after `settle`, the same calls return the
replacements.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING

from muster.framework.config.model import DEFAULT_SCHEDULER_NAME
from muster.framework.model.devices import CLASS_RESOURCE_PREFIX
from muster.framework.model.volume_migration import DRIVERS, TOPOLOGY_KEYS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_WORD = re.compile(r"[^\W\d_](?:[^\W_]|_(?!_))*")
"""In a label of a volume, two underscores separate zones, and one joins words."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_API_DOMAINS = ("kubernetes.io", "k8s.io", "muster-scheduler.io")
_CHOSEN_BELOW = ("node-role.kubernetes.io", "node-restriction.kubernetes.io")
"""Domains of Kubernetes below which other projects have keys."""
_BUILT_IN_GROUPS = frozenset({"", "apps", "autoscaling", "batch", "policy"})
_NATIVE_RESOURCES = frozenset({"cpu", "memory", "pods", "ephemeral-storage", "storage"})
_HUGE_PAGES = "hugepages-"
_CLOUDS = frozenset({"aws", "disks", "projects", "regions", "vol", "zones", "UNSPECIFIED"})
"""Words in the names of clouds' volumes that are read."""
_KNOWN_CONDITIONS = frozenset(
    {"PodScheduled", "Ready", "Initialized", "ContainersReady", "DisruptionTarget", "PodResizePending"}
    | {"PodResizeInProgress", "PodReadyToStartContainers", "PodGroupInitiallyScheduled", "Unschedulable"}
    | {"SchedulingGated", "SchedulerError", "Infeasible", "Deferred", "PreemptionByScheduler", "Scheduled"}
    | {"DeletionByTaintManager", "EvictionByEvictionAPI", "TerminationByKubelet"}
    | {"QuotaExceeded", "WaitingForPods", "GatedPods"}
)
_VERSION = re.compile(r"v\d+(?:(?:alpha|beta)\d+)?")
_SCHEDULERS = frozenset({DEFAULT_SCHEDULER_NAME, "muster"})
_AMOUNT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|(?:\d+(?:\.\d+)?[A-Za-zµ]{1,2})*\d*(?:\.\d+)?")
"""The form of a time, a quantity or a duration."""
_IN_TEXT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|[^\W_](?:[-\w./]*[^\W_])?")
_OPENING, _CLOSING = frozenset("\"'`{[=/"), frozenset("\"'`}=/")
_BEFORE_NAMES = frozenset(
    {"attribute", "claim", "class", "counter", "driver", "group", "Insufficient", "key", "label", "labels", "name"}
    | {"node", "pgName", "pod", "Pod", "podGroup", "PodGroup", "pool", "request", "scheduler", "set"}
)
"""Words of messages that an unquoted name follows."""
_BEHIND_THEM = frozenset(
    {"and", "class", "constraint", "could", "counter", "does", "failed", "gets", "group", "groups", "has", "in", "is"}
    | {"name", "not", "of", "on", "set", "tree", "was", "were", "with"}
)
"""Words of messages that may follow these too."""
_LAST_WORD = re.compile(r"([A-Za-z]+):? $")
_LONGEST_BEFORE = 16


class Words:
    """The words of one recording. `vocabulary` has the words of messages."""

    def __init__(self, vocabulary: Collection[str]) -> None:
        self._vocabulary = vocabulary
        self._chosen: set[str] = set()
        self._names: set[str] = set()
        self._fixed: set[str] = set()
        self._codes: dict[str, str] | None = None

    def settle(self) -> None:
        """End the first pass, and choose the replacements."""
        self._codes = _codes(sorted(self._chosen), sorted(self._fixed))

    def name(self, name: str) -> str:
        """Replace the chosen words of a name."""
        if self._codes is None:
            self._chosen.update(_WORD.findall(name))
            self._names.update((name, *name.split("/")))
        return self._renamed(name)

    def key(self, key: str) -> str:
        """Replace words of a label key, or of a text of the same form."""
        domain, slash, _ = key.partition("/")
        for chosen in _CHOSEN_BELOW:
            if slash and (domain == chosen or domain.endswith(f".{chosen}")):
                before, _, behind = key.partition(chosen)
                return f"{self.name(before)}{self._keep(chosen)}{self.name(behind)}"
        kept = key == "metadata.name" or key in TOPOLOGY_KEYS.values() or (bool(slash) and of_the_api(domain))
        return self._keep(key) if kept else self.name(key)

    def resource(self, resource: str) -> str:
        """Replace words of a resource's name; in a resource of a device class, the class's name."""
        if resource.startswith(CLASS_RESOURCE_PREFIX):
            return self._keep(CLASS_RESOURCE_PREFIX) + self.name(resource.removeprefix(CLASS_RESOURCE_PREFIX))
        if resource in _NATIVE_RESOURCES or resource.startswith(_HUGE_PAGES):
            return self._keep(resource)
        return self.key(resource)

    def image(self, image: str) -> str:
        """Replace words of an image; without a tag, its tag is `latest`."""
        name = image.removesuffix(":latest")
        return self.name(name) + image.removeprefix(name)

    def driver(self, driver: str) -> str:
        """Replace words of a volume's driver or provisioner; in-tree drivers keep their names."""
        return driver if driver in DRIVERS or driver in DRIVERS.values() else self.key(driver)

    def disk(self, disk: str) -> str:
        """Replace words of a cloud's name for a volume."""
        return "".join(
            each if each in _CLOUDS else self.name(each) for each in re.split(r"(?<=\w)(?=\W)|(?<=\W)(?=\w)", disk)
        )

    def api_group(self, group: str) -> str:
        """Replace words of an API group or an apiVersion."""
        name, slash, version = group.partition("/")
        if not slash and _VERSION.fullmatch(name):
            return group
        kept = name if is_built_in(name) else self.name(name)
        return kept + slash + (version if _VERSION.fullmatch(version) else self.name(version))

    def scheduler(self, name: str) -> str:
        """Replace words of a scheduler's name, except the default names of Kubernetes and Muster."""
        return name if name in _SCHEDULERS else self.name(name)

    def condition(self, word: str) -> str:
        """Replace words of the type or reason of a condition."""
        return word if word in _KNOWN_CONDITIONS else self.key(word)

    def setting(self, text: str) -> str:
        """Replace words of a value that is neither an amount nor a time."""
        return text if _AMOUNT.fullmatch(text) else self.name(text)

    def text(self, text: str) -> str:
        """Replace the names in sentences, and all words that are not words of messages."""
        return _IN_TEXT.sub(self._in_text, text)

    def _in_text(self, found: re.Match[str]) -> str:
        token = found[0]
        words = _WORD.findall(token)
        unknown = [word for word in words if word not in self._vocabulary]
        if self._codes is None:
            if token[0].isalpha():
                self._chosen.update(unknown)
            return token
        domain, slash, _ = token.partition("/")
        if token in self._names and (token != words[0] if words else False):
            return self._token(token)
        if _AMOUNT.fullmatch(token) or (slash and of_the_api(domain) and not domain.endswith(_CHOSEN_BELOW)):
            return token
        if unknown or (token in self._names and _stands_for_a_name(found)):
            return self._token(token)
        known = len(words) > 1 and all(part in self._names for part in token.split("/"))
        return self._token(token) if known else token

    def _token(self, token: str) -> str:
        """Replace words of a name in a text, by the rule for its form."""
        return self.resource(token)

    def _keep(self, text: str) -> str:
        if self._codes is None:
            self._fixed.update(_WORD.findall(text))
        return text

    def _renamed(self, name: str) -> str:
        codes = self._codes
        return name if codes is None else _WORD.sub(lambda word: codes.get(word[0], word[0]), name)


def words_of(text: str) -> list[str]:
    """The words in a text."""
    return _WORD.findall(text)


def of_the_api(domain: str) -> bool:
    """Whether Kubernetes or Muster assign the names in this domain."""
    return any(domain == each or domain.endswith(f".{each}") for each in _API_DOMAINS) or domain.endswith(".x-k8s.io")


def is_built_in(group: str) -> bool:
    """Whether an API group belongs to Kubernetes or its community."""
    return group in _BUILT_IN_GROUPS or of_the_api(group)


def _stands_for_a_name(found: re.Match[str]) -> bool:
    """Whether a word at this place of a message is more likely a name than a word of the sentence."""
    text, start, end = found.string, found.start(), found.end()
    if text[start - 1 : start] in _OPENING or text[end : end + 1] in _CLOSING:
        return True
    before = _LAST_WORD.search(text, max(0, start - _LONGEST_BEFORE), start)
    return before is not None and before[1] in _BEFORE_NAMES and found[0] not in _BEHIND_THEM


def _codes(words: Sequence[str], fixed: Sequence[str]) -> dict[str, str]:
    """A code for each word, so that codes and fixed words sort as the words and fixed words did.

    A code begins with a text that sorts between the neighbouring fixed words, followed by a zero, which sorts before
    letters, and a number of the same width for all.
    """
    width = 1
    while len(_DIGITS) ** width < len(words):
        width += 1
    return {word: f"{_between(word, fixed)}0{_number(at, width)}" for at, word in enumerate(words)}


def _between(word: str, fixed: Sequence[str]) -> str:
    """A prefix that sorts after the last fixed word up to `word` and before the next one, with the word's case."""
    at = bisect_right(fixed, word)
    small = word[0] >= "a"
    before = fixed[at - 1] if at and (fixed[at - 1][0] >= "a") is small else ""
    behind = fixed[at] if at < len(fixed) and (fixed[at][0] >= "a") is small else ""
    letters = ascii_lowercase if small else ascii_uppercase
    beginnings = (*letters, *(behind[:length] for length in range(2, len(behind))))
    return next((each for each in beginnings if before < each and (each < behind or not behind)), f"{before}0")


def _number(number: int, width: int) -> str:
    digits = []
    for _ in range(width):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
