"""A small synchronous JSON client for the servers that tests and benchmarks start themselves.

It exists beside the official client because objects go in and come out as plain dicts, exactly as the API has them: the
official client drops fields that its models lack and refuses answers that its models do not expect.
"""

import http.client
import json
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

TIMEOUT_SECONDS = 60
MERGE_PATCH = "application/merge-patch+json"


_CLOSED_MEANWHILE = (ssl.SSLEOFError, BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected)


class ApiError(Exception):
    """An answer with an error status: its HTTP code in `code`, the server's own words in the text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Api:
    """Requests to one server as one user over one connection, which is opened when needed; not for several threads.

    Answers are decoded JSON, or text where the server sends another type. Every request raises `ApiError` for a status
    of 400 or more and `OSError` where the server cannot be reached. `query` holds the parameters after the `?`.
    """

    def __init__(self, url: str, *, ca_file: Path, token: str) -> None:
        self._address = urlsplit(url).netloc
        self._ca_file = ca_file
        self._headers = {"Accept": "application/json", "Authorization": f"Bearer {token}"}
        self._connection: http.client.HTTPSConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, path: str, *, accept: str = "application/json", **query: object) -> Any:
        """Reads an object, a list or a page of text; `accept` asks for another representation."""
        return self._request("GET", path, query, headers={"Accept": accept})

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        """Creates an object in the list at `path`, or acts on a subresource such as `binding`."""
        return self._request("POST", path, {}, body=body)

    def put(self, path: str, body: Mapping[str, object]) -> Any:
        """Replaces an object."""
        return self._request("PUT", path, {}, body=body)

    def patch(self, path: str, body: Mapping[str, object]) -> Any:
        """Changes an object by a JSON merge patch."""
        return self._request("PATCH", path, {}, body=body, headers={"Content-Type": MERGE_PATCH})

    def delete(self, path: str, **query: object) -> Any:
        """Deletes an object, or all of a list; with `gracePeriodSeconds=0` at once, also pods that a node has."""
        return self._request("DELETE", path, query)

    def watch(self, path: str, **query: object) -> list[Any]:
        """The events of a watch on the list at `path`, once the server has ended it: bound it by `timeoutSeconds`."""
        answer, text = self._exchange("GET", f"{path}?{urlencode({'watch': 'true', **query})}", None, {})
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ApiError(answer.status, text)
        return [json.loads(line) for line in text.splitlines()]

    def is_ready(self, page: str = "/readyz") -> bool:
        """Whether the server answers and calls itself well on one of its health pages."""
        try:
            self.get(page)
        except (ApiError, OSError):
            return False
        return True

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, object],
        *,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] = {},
    ) -> Any:
        target = f"{path}?{urlencode(query)}" if query else path
        content = None if body is None else json.dumps(body)
        answer, text = self._exchange(method, target, content, {"Content-Type": "application/json", **headers})
        decoded = json.loads(text) if "json" in answer.headers.get_content_type() else text
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ApiError(answer.status, decoded["message"] if isinstance(decoded, dict) else decoded)
        return decoded

    def _exchange(
        self, method: str, target: str, content: str | None, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, str]:
        reused = self._connection is not None
        if self._connection is None:
            trust = ssl.create_default_context(cafile=str(self._ca_file))
            self._connection = http.client.HTTPSConnection(self._address, timeout=TIMEOUT_SECONDS, context=trust)
        try:
            self._connection.request(method, target, content, self._headers | dict(headers))
            answer = self._connection.getresponse()
            return answer, answer.read().decode()
        except _CLOSED_MEANWHILE:
            self.close()
            if reused:  # the server closes connections that were idle for long; a new one will do
                return self._exchange(method, target, content, headers)
            raise
        except http.client.HTTPException as error:
            self.close()
            raise ConnectionError(f"{method} {target}: {error!r}") from error
        except OSError:
            self.close()
            raise
