"""The templates: views rendered to HTML, with all text from the cluster escaped.

Escaping is on for every template: no template marks text as safe, and none writes into a script or a style. A thread
renders, so that the event loop stays responsive.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_TEMPLATES = Path(__file__).with_name("templates")
_STATIC = Path(__file__).with_name("static")
_PAGES = (("/", "Queue"), ("/nodes", "Nodes"), ("/changes", "Changes"))
"""The addresses and names in the navigation, on every page."""
_QUOTAS = (("/quotas", "Quotas"),)
_HISTORY = (("/history", "History"),)
_MOVES = (("/moves", "Moves"),)
_CONTENT_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def static_files() -> dict[str, tuple[str, bytes]]:
    """The static files that pages refer to: content type and content, by name."""
    return {path.name: (_CONTENT_TYPES[path.suffix], path.read_bytes()) for path in _STATIC.iterdir()}


class Templates:
    """The templates in this package's folder. `history` and `moves`: whether there are such pages to link to."""

    def __init__(self, *, history: bool = False, moves: bool = False) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._further = (*(_HISTORY if history else ()), *(_MOVES if moves else ()))
        self._environment.globals["moves"] = moves

    async def render(self, name: str, *, quotas: bool = False, **values: object) -> str:
        """Render a template. `quotas`: whether the cluster has quotas, so that their page is linked."""
        pages = (*_PAGES, *(_QUOTAS if quotas else ()), *self._further)
        return await asyncio.to_thread(self._environment.get_template(f"{name}.html").render, pages=pages, **values)
