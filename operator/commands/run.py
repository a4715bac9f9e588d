"""`muster run`: the scheduler itself."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from muster.framework.config import ConfigurationError, parse_duration
from muster.framework.model.quantity import NANO_PER_UNIT, QuantityError, nanos
from muster.operator import app, logs
from muster.operator.kube.credentials import load_connection
from muster.operator.podgroups.admission import AdmissionServing
from muster.operator.process.settings import (
    Assembly,
    assemble,
    read_configuration,
    with_leader_election,
    with_scheduler_names,
)
from muster.operator.recording.session import RecordingOptions
from muster.operator.recording.writer import make_file
from muster.operator.serving import CertificateError, ListenError, certificate_files
from muster.operator.serving.server import DEFAULT_PORT

from .common import BadInputError, bad_input, config_option, errors_of, kubeconfig_option

_HTTP_PORT = 80


def _ip(_context: click.Context, _option: click.Parameter, value: str) -> str:
    try:
        ipaddress.ip_address(value)
    except ValueError as error:
        raise click.BadParameter(f'failed to parse IP: "{value}"') from error
    return value


def _duration(_context: click.Context, _option: click.Parameter, value: str) -> float:
    try:
        seconds = parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    if seconds < 0:
        raise click.BadParameter("must be zero or positive")
    return seconds


def _bytes(_context: click.Context, _option: click.Parameter, value: str) -> int:
    try:
        return nanos(value) // NANO_PER_UNIT
    except QuantityError as error:
        raise click.BadParameter(str(error)) from error


def _endpoint(_context: click.Context, _option: click.Parameter, value: str | None) -> app.Endpoint | None:
    if value is None:
        return None
    try:
        url = urlsplit(value)
        if url.scheme != "http":
            raise ValueError("the scheme must be http")
        host = "127.0.0.1" if url.hostname in (None, "localhost") else str(ipaddress.ip_address(url.hostname))
        return app.Endpoint(host, url.port or _HTTP_PORT, url.path)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The values of the command's options, each under the option's name."""

    config: Path | None
    kubeconfig: Path | None
    names: Sequence[str]
    leader_elect: bool | None
    assumed_pod_ttl: float
    verbosity: int
    log_format: logs.Style
    host: str
    port: int
    plain: bool
    web: bool
    certificate: Path | None
    key: Path | None
    liveness: app.Endpoint | None
    webhook_port: int | None
    webhook_cert_file: Path | None
    webhook_private_key_file: Path | None
    recorded: Path | None
    record_bytes: int
    annotations: Sequence[str]

    def check(self) -> None:
        """Raise UsageError for options that exclude or need each other."""
        if (self.certificate is None) != (self.key is None):
            raise click.UsageError("--tls-cert-file and --tls-private-key-file go together")
        if self.web and self.plain:
            raise click.UsageError("--web and --plain-http exclude each other: the pages are not for everyone")
        if self.webhook_port == self.port:
            raise click.UsageError(f"--secure-port and --webhook-port are both {self.webhook_port}")

    def serving(self, flags: Mapping[str, str]) -> app.Serving:
        """The address of the pages. Raises UsageError and BadInputError for the webhook's options."""
        return app.Serving(
            host=self.host,
            port=self.port,
            plain=self.plain,
            certificate=self.certificate,
            key=self.key,
            liveness=self.liveness,
            admission=self._admission(),
            web=self.web,
            flags=flags,
        )

    def assembly(self) -> Assembly:
        """The assembly to run. Raises ConfigurationError, UsageError, and OSError for files that cannot be used."""
        configuration = with_leader_election(read_configuration(self.config), self.leader_elect)
        assembly = assemble(with_scheduler_names(configuration, self.names), source=str(self.config or ""))
        assembly = replace(assembly, assumed_ttl=self.assumed_pod_ttl or None)
        if self.recorded is None:
            return assembly
        if configuration.extenders:
            raise click.UsageError("--record: what extenders answer cannot be recorded")
        make_file(self.recorded).close()
        recording = RecordingOptions(self.recorded, self.record_bytes, frozenset(self.annotations))
        return replace(assembly, recording=recording)

    def _admission(self) -> AdmissionServing | None:
        if self.webhook_port is None:
            return None
        certificate, key = self.webhook_cert_file, self.webhook_private_key_file
        if certificate is None or key is None:
            raise click.UsageError("--webhook-port needs --webhook-cert-file and --webhook-private-key-file")
        try:
            certificate_files(certificate, key)
        except CertificateError as error:
            raise BadInputError(str(error)) from error
        return AdmissionServing(certificate, key, self.webhook_port)


@click.command("run")
@config_option
@kubeconfig_option
@click.option(
    "--scheduler-name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Answer to this schedulerName instead of the configuration's. May be repeated.",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    "leader_elect",
    default=None,
    help="Elect a leader among replicas. Default: as the configuration says; without one, no.",
)
@click.option(
    "--assumed-pod-ttl",
    default="0s",
    show_default=True,
    metavar="DURATION",
    callback=_duration,
    help="Forget a pod that was bound but is not reported on its node for so long, with a warning; 0s for never.",
)
@click.option(
    "-v", "verbosity", type=click.IntRange(0, 10), default=0, help="Log level; 2 logs decisions, 10 their nodes."
)
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--bind-address", "host", default="0.0.0.0", show_default=True, metavar="IP", callback=_ip, help="Where to serve."
)
@click.option(
    "--secure-port",
    "port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port for health and metrics; 0 for none.",
)
@click.option("--plain-http", "plain", is_flag=True, help="Serve without TLS, and to everyone.")
@click.option("--web", is_flag=True, help="Serve the web pages too, at /web/, to clients that may get that path.")
@click.option(
    "--tls-cert-file", "certificate", type=click.Path(path_type=Path), metavar="FILE", help="PEM certificate."
)
@click.option("--tls-private-key-file", "key", type=click.Path(path_type=Path), metavar="FILE", help="Its key.")
@click.option(
    "--liveness",
    metavar="URL",
    callback=_endpoint,
    help="Serve kopf's liveness here, e.g. http://0.0.0.0:8080/healthz.",
)
@click.option(
    "--webhook-port",
    type=click.IntRange(1, 65535),
    help="Validate PodGroups here, for a ValidatingWebhookConfiguration that points to it. Default: not at all.",
)
@click.option(
    "--record",
    "recorded",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write down what is seen and decided, for muster replay.",
)
@click.option(
    "--record-max-size",
    "record_bytes",
    default="1Gi",
    show_default=True,
    metavar="SIZE",
    callback=_bytes,
    help="How large that may get: the file and FILE.1, the part before it.",
)
@click.option(
    "--record-annotation",
    "annotations",
    multiple=True,
    metavar="KEY",
    help="Also record this annotation of pods and nodes, which a plugin reads. May be repeated.",
)
@click.option("--webhook-cert-file", type=click.Path(path_type=Path), metavar="FILE", help="PEM certificate for it.")
@click.option("--webhook-private-key-file", type=click.Path(path_type=Path), metavar="FILE", help="Its key.")
def command(**given: Any) -> None:
    """Schedule pods until stopped.

    Watches the pods that name one of its schedulers in spec.schedulerName, and binds them. SIGTERM shuts it down
    gracefully; SIGUSR2 writes cache and queue to the log.
    """
    options = _Options(**given)
    options.check()
    serving = options.serving(_flags(click.get_current_context()))
    logs.configure(verbosity=options.verbosity, style=options.log_format, stream=sys.stderr)
    with bad_input():
        assembly = options.assembly()
        configured = assembly.configuration.client_connection.kubeconfig
        connection = load_connection(options.kubeconfig or configured or None)
    try:
        app.run(assembly, connection, serving)
    except ConfigurationError as error:
        raise BadInputError(*errors_of(error)) from error
    except (CertificateError, ListenError) as error:
        raise BadInputError(str(error)) from error


def _flags(context: click.Context) -> dict[str, str]:
    """The value of every flag, by its longest name."""
    names = {each.name: max(each.opts, key=len).lstrip("-") for each in context.command.params}
    given = ((names[name], value) for name, value in context.params.items())
    return {name: "" if value is None else str(value) for name, value in given}
