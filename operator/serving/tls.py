"""Server certificates: from files, which are read again when they change, or generated for the life of the process.

Certificates that are mounted from a Secret are renewed while the process runs, so every handshake checks whether the
files have changed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import ssl
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from muster.operator.failures import in_words

_VALID_DAYS = 365

log = logging.getLogger(__name__)


class CertificateError(Exception):
    """A certificate cannot be had; the message says why."""


def certificate_files(certificate: Path, key: Path) -> ssl.SSLContext:
    """A context that serves this PEM certificate chain and key, and their successors when the files are replaced.

    Raises CertificateError when the files cannot be read now. If their successors cannot, the last good pair stays.
    """
    files = _Files(certificate, key)
    context = files.read()
    context.sni_callback = files.choose
    return context


async def self_signed(names: Sequence[str]) -> ssl.SSLContext:
    """A context with a new key and a certificate for these host names and IP addresses, signed by itself.

    No client can verify it: it encrypts, and serves where callers do not check, as with kube-scheduler's fallback. The
    key exists in a private folder for a moment. Needs the `openssl` command; raises CertificateError without it.
    """
    with TemporaryDirectory() as folder:
        certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
        try:
            process = await asyncio.create_subprocess_exec(
                *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
                *("-keyout", str(key), "-out", str(certificate), "-days", str(_VALID_DAYS)),
                *("-subj", f"/CN={names[0]}", "-addext", f"subjectAltName={','.join(map(_alternative, names))}"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise CertificateError(f"a self-signed certificate needs the openssl command: {in_words(error)}") from error
        _, complaint = await process.communicate()
        if process.returncode:
            raise CertificateError(f"openssl could not make a certificate: {complaint.decode(errors='replace')}")
        return _Files(certificate, key).read()


class _Files:
    """A pair of files, what they looked like when last read, and the context made of the last good pair."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate = certificate
        self._key = key
        self._seen: tuple[tuple[int, int], ...] = ()
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)

    def read(self) -> ssl.SSLContext:
        """Raises CertificateError, and then keeps what was there before."""
        try:
            self._seen = self._look()
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(self._certificate, self._key)
        except OSError as error:
            raise CertificateError(
                f"cannot serve with {self._certificate} and {self._key}: {in_words(error)}"
            ) from error
        self._context = context
        return context

    def choose(self, connection: ssl.SSLObject, _server_name: str, _context: ssl.SSLContext) -> None:
        """Gives a connection the newest certificate; called at the client's first message."""
        try:
            if self._look() != self._seen:
                self.read()
        except (OSError, CertificateError) as error:
            pairs = {"err": error}
            log.error("Unable to read the renewed serving certificate, keeping the one before", extra={"pairs": pairs})
        connection.context = self._context

    def _look(self) -> tuple[tuple[int, int], ...]:
        stats = (self._certificate.stat(), self._key.stat())
        return tuple((stat.st_ino, stat.st_mtime_ns) for stat in stats)


def _alternative(name: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(name)}"
    except ValueError:
        return f"DNS:{name}"
