"""Loading: the text of a configuration file in, a validated configuration out.

Called by the operator with what it read from the file, and by tools that show or check configurations. Reading files
is the caller's business.
"""

from collections.abc import Mapping
from typing import Final

from muster.framework.config.args.table import API_VERSION
from muster.framework.config.decoding import decode
from muster.framework.config.document import read_document
from muster.framework.config.fields import JSON_KINDS
from muster.framework.config.model import (
    KIND,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
)
from muster.framework.config.problems import ConfigurationError, Problem, as_json
from muster.framework.config.validation import problems_of

MUSTER: Final = "muster"


def load(text: str | bytes, source_name: str) -> KubeSchedulerConfiguration:
    """The configuration in `text`, YAML or JSON, read as kube-scheduler reads it.

    `source_name` (a path, usually) is for messages. Raises ConfigurationError with every fault of the first kind that
    occurs: text that is not YAML, another kind of object, fields that do not decode, values that are refused.
    """
    document = read_document(text, source_name)
    if problem := _identity_problem(document.value, source_name):
        raise ConfigurationError([problem], source=source_name)
    configuration, problems = decode(KubeSchedulerConfiguration, document.value)
    problems = [*document.problems, *problems]
    if configuration is None or problems:
        raise ConfigurationError(problems, source=source_name)
    if problems := problems_of(configuration):
        raise ConfigurationError(problems, source=source_name)
    return configuration


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
        return Problem("kind", f"no kind {as_json(kind)} is registered for version {as_json(version)}")
    return None
