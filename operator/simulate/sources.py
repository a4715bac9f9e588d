"""The sources of manifests: files, folders, URLs and standard input, as `kubectl apply -f` takes them."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from .manifests import ManifestError

STDIN = "-"
_SUFFIXES = (".json", ".yaml", ".yml")
_SCHEMES = ("http://", "https://")
_SECONDS = 30.0


def texts(named: str, *, recursive: bool = False) -> Iterator[tuple[str, bytes]]:
    """The texts of a source, each with its name for errors; for a folder, its manifests by name.

    Raises OSError for unreadable files, and ManifestError for a URL or folder without manifests.
    """
    if named == STDIN:
        yield STDIN, sys.stdin.buffer.read()
    elif named.startswith(_SCHEMES):
        yield named, _fetched(named)
    elif Path(named).is_dir():
        yield from _in_folder(Path(named), recursive=recursive)
    else:
        yield named, Path(named).read_bytes()


def _in_folder(folder: Path, *, recursive: bool) -> Iterator[tuple[str, bytes]]:
    found = folder.rglob("*") if recursive else folder.iterdir()
    files = sorted(path for path in found if path.suffix in _SUFFIXES and path.is_file())
    if not files:
        raise ManifestError(f"{folder}: no {', '.join(_SUFFIXES)} files in it")
    for path in files:
        yield str(path), path.read_bytes()


def _fetched(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
            text: bytes = answer.read()
    except urllib.error.HTTPError as error:
        error.close()
        raise ManifestError(f"{url}: the server answered {error.code} {error.reason}") from error
    except (urllib.error.URLError, TimeoutError, ValueError) as error:
        raise ManifestError(f"{url}: {getattr(error, 'reason', error)}") from error
    return text
