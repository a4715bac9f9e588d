"""The webhooks of a program that does not run in a pod: the API server calls them by an address, not by a Service.

Pure: a manifest of the program in, the manifest for the API server out.
"""

import base64
from collections.abc import Mapping
from typing import Any


def at(configuration: Mapping[str, Any], url: str, authority: bytes) -> dict[str, Any]:
    """A webhook configuration whose webhooks are called at `url`, under their own paths.

    `authority` is the certificate, in PEM, that has signed the server's.
    """
    trust = base64.b64encode(authority).decode()
    called = [
        {**each, "clientConfig": {"url": url + each["clientConfig"]["service"]["path"], "caBundle": trust}}
        for each in configuration["webhooks"]
    ]
    return {**configuration, "metadata": {**configuration["metadata"]}, "webhooks": called}
