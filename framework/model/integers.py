"""Integers of the API. A number that its type cannot hold is refused while the object is decoded."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
