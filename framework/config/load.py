"""Loading: the text of a configuration file in, a validated configuration out.

Called by the operator with what it read from the file, and by tools that show or check configurations. Reading files
is the caller's business.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from muster.framework.config.args.table import API_VERSION
from muster.framework.config.decoding import decode_rest
from muster.framework.config.document import read_document
from muster.framework.config.fields import JSON_KINDS
from muster.framework.config.model import (
    KIND,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
)
from muster.framework.config.problems import ConfigurationError, Problem, as_json, nearest
from muster.framework.config.validation import problems_of

MUSTER: Final = "muster"


@dataclass(frozen=True, slots=True)
class Reading:
    """A document as far as it could be read.

    Attributes:
        configuration: what could be decoded, values that are refused included; None if nothing could.
        problems: every fault, in the order of kube-scheduler's checks.
        unread: the paths of fields that count as absent because they could not be decoded.
    """

    configuration: KubeSchedulerConfiguration | None
    problems: tuple[Problem, ...]
    unread: frozenset[str]

    def own(self, problems: Iterable[Problem]) -> Iterator[Problem]:
        """The problems that do not follow from fields that count as absent."""
        for problem in problems:
            judged = any(_holds(field, problem.path) for field in self.unread)
            compared = any(
                _holds(field, other) or _holds(other, field) for field in self.unread for other in problem.compared
            )
            if not (judged or compared):
                yield problem


def load(text: str | bytes, source_name: str) -> KubeSchedulerConfiguration:
    """The configuration in `text`, YAML or JSON, read as kube-scheduler reads it.

    `source_name` (a path, usually) is for messages. Raises ConfigurationError with every fault, as `read` does.
    """
    reading = read(text, source_name)
    if reading.configuration is None or reading.problems:
        raise ConfigurationError(reading.problems, source=source_name)
    return reading.configuration


def read(text: str | bytes, source_name: str) -> Reading:
    """The configuration in `text`, and all problems with it: repeated keys, fields that do not decode, and values
    that are refused. kube-scheduler stops after the first of these kinds.

    Raises ConfigurationError for a text that is not YAML and for another kind of object.
    """
    document = read_document(text, source_name)
    if problem := _identity_problem(document.value, source_name):
        raise ConfigurationError([problem], source=source_name)
    configuration, problems, unread = decode_rest(KubeSchedulerConfiguration, document.value)
    reading = Reading(configuration, (*document.problems, *problems), unread)
    if configuration is None:
        return reading
    return replace(reading, problems=(*reading.problems, *reading.own(problems_of(configuration))))


def default_configuration() -> KubeSchedulerConfiguration:
    """The configuration without a file: kube-scheduler's defaults under the name `muster`, its lease included.

    A file that leaves names out gets kube-scheduler's (`default-scheduler`, lease `kube-scheduler`) instead.
    """
    return KubeSchedulerConfiguration(
        leader_election=LeaderElectionConfiguration(resource_name=MUSTER),
        profiles=(KubeSchedulerProfile(scheduler_name=MUSTER),),
    )


def _identity_problem(value: object, source_name: str) -> Problem | None:
    """The problem with the apiVersion and kind of a document."""
    fields = {} if value is None else value
    if not isinstance(fields, Mapping):
        found = JSON_KINDS[type(fields)]
        return Problem(
            "", f"couldn't get version/kind; json parse error: json: cannot unmarshal {found} into an object"
        )
    kind, version = fields.get("kind"), fields.get("apiVersion")
    if not kind:
        return Problem("kind", f"Object 'Kind' is missing in '{source_name}'")
    if not version:
        return Problem("apiVersion", f"Object 'apiVersion' is missing in '{source_name}'")
    if (version, kind) != (API_VERSION, KIND):
        near = nearest(str(kind), [KIND]) if kind != KIND else API_VERSION
        return Problem("kind", f"no kind {as_json(kind)} is registered for version {as_json(version)}", near)
    return None


def _holds(outer: str, inner: str) -> bool:
    """Whether the path `inner` is `outer` or lies below it."""
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))
