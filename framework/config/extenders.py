"""Extenders: the webhooks that take part in scheduling, as the configuration describes them."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from muster.framework.config.fields import Base64, Bool, ConfigModel, Int64, Seconds, Text, unless_zero
from muster.framework.config.problems import Problem, invalid
from muster.framework.model.names import is_extended_resource, label_key_faults


class ExtenderManagedResource(ConfigModel):
    """An extended resource whose pods the extender wants to see."""

    name: Text = ""
    ignored_by_scheduler: Bool = False


class ExtenderTLSConfig(ConfigModel):
    """TLS towards the extender. Inline data (PEM) goes before files."""

    insecure: Bool = False
    server_name: Text = ""
    cert_file: Text = ""
    key_file: Text = ""
    ca_file: Text = ""
    cert_data: Base64 = b""
    key_data: Base64 = b""
    ca_data: Base64 = b""


class ExtenderConfig(ConfigModel):
    """A webhook. An empty verb means that the extender does not take part in that step.

    `weight` multiplies its scores; `http_timeout` is in seconds; an `ignorable` extender may fail without harm.
    """

    url_prefix: Text = ""
    filter_verb: Text = ""
    preempt_verb: Text = ""
    prioritize_verb: Text = ""
    weight: Int64 = 0
    bind_verb: Text = ""
    enable_https: Bool = Field(default=False, alias="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Annotated[Seconds, unless_zero(5.0)] = 5.0
    node_cache_capable: Bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: Bool = False


def extender_problems(extenders: Sequence[ExtenderConfig], path: str) -> Iterator[Problem]:
    """The problems with the extenders at `path`, each by itself and all together."""
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        place = f"{path}[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield invalid(f"{place}.weight", extender.weight, "must have a positive weight applied to it")
        for number, resource in enumerate(extender.managed_resources):
            name_path = f"{place}.managedResources[{number}].name"
            yield from _resource_problems(resource.name, name_path)
            if resource.name in managed:
                yield invalid(name_path, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        yield invalid(path, f"found {binders} extenders implementing bind", "only one extender can implement bind")


def _resource_problems(name: str, path: str) -> Iterator[Problem]:
    if faults := label_key_faults(name):
        yield from (invalid(path, name, fault) for fault in faults)
    elif not is_extended_resource(name):
        yield invalid(path, name, "is an invalid extended resource name")
