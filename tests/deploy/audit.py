"""The requests of the scheduler's ServiceAccount to the API server, from the server's own audit log."""

import json
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from tests.deploy.helm import NAMESPACE, RELEASE

SERVICE_ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{RELEASE}"
_FORBIDDEN = HTTPStatus.FORBIDDEN


class Right(NamedTuple):
    """What a rule of a role allows, or what a request needs. `name` is empty where a rule names no object."""

    group: str
    resource: str
    verb: str
    name: str = ""


class Audit:
    """The log in a folder, in which the API server is told to write it."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "audit.log"
        self._policy = folder / "policy.json"
        rules = [{"level": "Metadata", "users": [SERVICE_ACCOUNT]}, {"level": "None"}]
        policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules}
        self._policy.write_text(json.dumps(policy))

    @property
    def api_server_arguments(self) -> Sequence[str]:
        """What makes the API server write the log; a request is in it before it is answered."""
        return (
            f"--audit-policy-file={self._policy}",
            f"--audit-log-path={self._log}",
            "--audit-log-mode=blocking",
        )

    def refused(self) -> list[str]:
        """Requests that lacked a right, as verb and path."""
        return [
            f"{event['verb']} {event['requestURI']}"
            for event in self._events()
            if event.get("responseStatus", {}).get("code") == _FORBIDDEN
        ]

    def used(self) -> set[Right]:
        """The rights that requests needed, each with the name of its object and without."""
        rights = set()
        for event in self._events():
            if "objectRef" not in event:
                continue
            about = event["objectRef"]
            resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
            right = Right(about.get("apiGroup", ""), resource, event["verb"])
            rights |= {right, right._replace(name=about.get("name", ""))}
        return rights

    def _events(self) -> Iterator[dict[str, Any]]:
        yield from map(json.loads, self._log.read_text().splitlines())


def granted(rules: Sequence[dict[str, Any]]) -> set[Right]:
    """All that the rules of roles allow; a rule for several things is as many rights."""
    return {
        Right(group, resource, verb, name)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
