"""TLS towards the API server, configured as by kubectl.

`credentials` creates one `ClientTls` per connection; an exec plugin may present a new client certificate later.
"""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from .errors import CredentialsError


class ClientTls:
    """The TLS context of new requests.

    It trusts only the PEM `authority`, or the system's authorities if there is none, or every server if `insecure`
    (insecure-skip-tls-verify). Text around certificates is ignored. Raises CredentialsError, naming `origin`, if
    `authority` has no certificate.
    """

    def __init__(self, *, authority: bytes | None, insecure: bool, origin: str) -> None:
        self._authority = authority
        self._insecure = insecure
        self._origin = origin
        self.context = self._fresh()

    def present(self, *, certificate: bytes, key: bytes, origin: str) -> None:
        """Present this PEM certificate to the server from now on.

        The context is replaced, not changed: the client pools connections by context, so no connection with the
        previous certificate is used again. OpenSSL reads only files, so the two are in a private folder during this
        call. Raises CredentialsError, naming `origin`, if they are not a certificate and its key.
        """
        context = self._fresh()
        with tempfile.TemporaryDirectory(prefix="muster-") as folder:
            certificate_file, key_file = Path(folder, "certificate"), Path(folder, "key")
            certificate_file.write_bytes(certificate)
            key_file.write_bytes(key)
            try:
                # The empty password keeps OpenSSL from asking for one on the terminal.
                context.load_cert_chain(certificate_file, key_file, password="")
            except (ssl.SSLError, OSError) as error:
                raise CredentialsError(f"{origin}: client certificate and key do not load") from error
        self.context = context

    def _fresh(self) -> ssl.SSLContext:
        try:
            text = self._authority.decode("ascii", "ignore") if self._authority is not None else None
            context = ssl.create_default_context(cadata=text)
        except (ssl.SSLError, ValueError) as error:
            raise CredentialsError(f"{self._origin}: not a PEM certificate") from error
        # Python 3.13's strict checks reject the authorities that kubeadm, k3s and kind create.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self._insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context
