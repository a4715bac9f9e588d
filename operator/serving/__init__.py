"""The small HTTP server of the process: health, metrics, configuration and the reason why a pod waits.

What belongs here: pages, who may read them, and TLS. What does not: what the pages say. That comes through the
callables of `Sources`, so that this package knows neither the engine nor the API.
"""

from .app import Sources, Unknown, application
from .authorization import ApiClient, Authorizer, Decision, ReviewAuthorizer
from .connections import Limits
from .health import Check
from .listener import ListenError
from .server import Bounds, Server
from .tls import CertificateError, certificate_files, self_signed

__all__ = [
    "ApiClient",
    "Authorizer",
    "Bounds",
    "CertificateError",
    "Check",
    "Decision",
    "Limits",
    "ListenError",
    "ReviewAuthorizer",
    "Server",
    "Sources",
    "Unknown",
    "application",
    "certificate_files",
    "self_signed",
]
