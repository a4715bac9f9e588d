"""The HTTP server of the process: health, metrics, configuration and the reason why a pod waits.

What belongs here: pages, access control, and TLS. What does not: the contents of pages, which come from the callables
of `PageSources`, so that this package knows neither the engine nor the API.
"""

from .app import PageSources, Unknown, application
from .authorization import AccessDecision, Authorizer, ReviewAuthorizer, ReviewClient
from .connections import Limits
from .health import Check
from .listener import ListenError
from .server import Bounds, Server
from .tls import CertificateError, certificate_files, self_signed

__all__ = [
    "AccessDecision",
    "Authorizer",
    "Bounds",
    "CertificateError",
    "Check",
    "Limits",
    "ListenError",
    "PageSources",
    "ReviewAuthorizer",
    "ReviewClient",
    "Server",
    "Unknown",
    "application",
    "certificate_files",
    "self_signed",
]
