"""The API server's audit log: who asked for which writes, with which answers."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from muster.framework.model.times import parse_time

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "userGroups": ["system:serviceaccounts"],
            "verbs": ["create", "update", "patch", "delete"],
        },
        {"level": "None"},
    ],
}
"""Every write of a service account, once it is answered, and nothing else."""
_BEGIN = '{"kind":"Event"'


@dataclass(frozen=True, slots=True)
class Write:
    """One request to write.

    Attributes:
        user: who asked.
        what: the resource, with its subresource after a slash.
        name: the object's.
        received: when the request came in, in seconds since the epoch.
        code: the HTTP status of the answer.
    """

    user: str
    what: str
    name: str
    received: float
    code: int

    @property
    def done(self) -> bool:
        """Whether the API server did it."""
        return self.code < HTTPStatus.MULTIPLE_CHOICES


def arguments(folder: Path, log: Path) -> list[str]:
    """What kube-apiserver needs on its command line to write the log, one line a request, before it answers."""
    policy = folder / "audit-policy.json"
    policy.write_text(json.dumps(POLICY))
    return [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-mode=blocking"]


def writes(log: Path, user: str) -> list[Write]:
    """All that a user asked for, in the order it came in."""
    return sorted((write for write in _read(log) if write.user == user), key=lambda write: write.received)


def besides_leases(found: Iterable[Write]) -> list[Write]:
    """Without the election itself."""
    return [write for write in found if write.what != "leases"]


def bindings(found: Iterable[Write]) -> Counter[str]:
    """How often each pod was bound."""
    return Counter(write.name for write in found if write.what == "pods/binding" and write.done)


def _read(log: Path) -> Iterator[Write]:
    """Whole lines. Where the API server was killed one ends in the middle, and the next begins right behind it."""
    with log.open() as lines:
        for line in lines:
            begin = line.rfind(_BEGIN)
            if begin < 0 or not line.endswith("\n"):
                continue
            entry = json.loads(line[begin:])
            about = entry["objectRef"]
            subresource = f"/{about['subresource']}" if "subresource" in about else ""
            yield Write(
                user=entry["user"]["username"],
                what=about["resource"] + subresource,
                name=about.get("name", ""),
                received=parse_time(entry["requestReceivedTimestamp"]),
                code=entry["responseStatus"]["code"],
            )
