"""The users of a control plane, and the files that name them: token table, service-account key, kubeconfigs."""

import base64
import csv
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

# An elliptic-curve private key on P-256 (RFC 5915) is its 32 bytes between these two; the public half may be left out.
_EC_KEY_HEAD = bytes.fromhex("30310201010420")
_EC_KEY_TAIL = bytes.fromhex("a00a06082a8648ce3d030107")


@dataclass(frozen=True, slots=True)
class User:
    """A person or program that logs in with a token of its own."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)


def write_token_table(path: Path, users: Iterable[User]) -> None:
    """Writes the file for kube-apiserver's `--token-auth-file`."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([user.token, user.name, user.name, ",".join(user.groups)] for user in users)


def write_signing_key(path: Path) -> None:
    """Writes a fresh private key that service-account tokens are signed and checked with."""
    # The top byte is kept below the curve order's, so any 32 random bytes make a valid key.
    secret = bytes([secrets.randbelow(0xFF)]) + secrets.token_bytes(31)
    body = base64.b64encode(_EC_KEY_HEAD + secret + _EC_KEY_TAIL).decode()
    path.write_text(f"-----BEGIN EC PRIVATE KEY-----\n{body}\n-----END EC PRIVATE KEY-----\n")


def write_kubeconfig(path: Path, *, server: str, ca_file: Path, user: User) -> None:
    """Writes a kubeconfig that is complete in itself: it names the server, trusts its CA and logs in as `user`."""
    authority = base64.b64encode(ca_file.read_bytes()).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": user.name, "user": {"token": user.token}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": user.name}}],
        "current-context": "local",
    }
    path.write_text(yaml.safe_dump(config, sort_keys=False))
