"""Validating admission of PodGroups, for those who want mistakes refused instead of explained later.

Off unless `muster run` is told to serve it. What the schema refuses never comes here; what it lets pass, as
scheduler-plugins' own does, is judged by the rules of the models. An object that was stored with a mistake can still be
changed in all other respects, and deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kopf

from muster.plugins.coscheduling.model import GROUP, PLURAL, VERSION, problems

from .webhook import ReviewServer

_UNPROCESSABLE = 422


@dataclass(frozen=True, slots=True)
class AdmissionServing:
    """Where the API server finds the webhook.

    Attributes:
        certificate, key: PEM files, read again when they change.
        port: to listen on, at `address`; "" for all addresses.
        managed: the name of a ValidatingWebhookConfiguration to keep pointing here, a domain of two parts or more; ""
            leaves that to the deployment.
        host, authority: for the managed configuration, the host name to call and the PEM file to trust it by.
    """

    certificate: Path
    key: Path
    port: int
    address: str = ""
    managed: str = ""
    host: str | None = None
    authority: Path | None = None


def admission_settings(settings: kopf.OperatorSettings, serving: AdmissionServing) -> None:
    """Have an operator serve its admission handlers there."""
    settings.admission.server = ReviewServer(
        serving.certificate,
        serving.key,
        port=serving.port,
        address=serving.address,
        host=serving.host,
        authority=serving.authority,
    )
    settings.admission.managed = serving.managed or None


def validate_pod_groups(registry: kopf.OperatorRegistry) -> None:
    """Add the handler to an operator. When it cannot be reached, PodGroups are let pass."""

    @kopf.on.validate(
        GROUP, VERSION, PLURAL, id=PLURAL, operations=["CREATE", "UPDATE"], ignore_failures=True, registry=registry
    )
    async def validate(body: kopf.Body, old: Mapping[str, Any] | None = None, **_: Any) -> None:
        found = refusals(old, body)
        if found:
            raise kopf.AdmissionError("; ".join(found), code=_UNPROCESSABLE)


def refusals(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> list[str]:
    """Why a PodGroup that was `old`, or did not exist, may not become `new`; nothing when it may."""
    if old is not None and old.get("spec") == new.get("spec"):
        return []
    return problems(new)
