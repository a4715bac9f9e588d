"""The annotations of a PodGroup that name the domains in which its members have to be together.

Anyone who may create PodGroups may set them. Invalid annotations, like an invalid spec, are reported on the group,
and its members wait.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from muster.framework.contract import Topology
from muster.framework.model.names import PREFIX, label_key_faults

REQUIRED = f"{PREFIX}required-topology"
"""Label keys, the widest first, separated by commas: all members are placed in one domain of each."""
PREFERRED = f"{PREFIX}preferred-topology"
"""Narrower label keys than the required ones: members are placed in one domain of each if possible."""
SLICE_LEVEL = f"{PREFIX}slice-topology"
"""A label key: each slice is placed in one domain of it."""
SLICE_SIZE = f"{PREFIX}slice-size"
"""The number of members in a slice."""
ANNOTATIONS = (REQUIRED, PREFERRED, SLICE_LEVEL, SLICE_SIZE)

_MOST_LEVELS = 8
_LONGEST_TEXT = 4096
"""Characters: more than eight label keys have."""
_QUOTED = 64
_LONGEST_SIZE = 9
"""The most digits in a number of members."""


class AnnotationError(Exception):
    """A problem with an annotation, with its field, worded as by the API server."""

    def __init__(self, annotation: str, value: str, fault: str) -> None:
        self.problem = annotation, value, fault
        super().__init__(f"metadata.annotations[{annotation}]: Invalid value: {json.dumps(value)}: {fault}")


def topology_of(annotations: Mapping[str, str]) -> Topology | None:
    """The topology that these annotations require; None for none. Raises AnnotationError."""
    if not annotations:
        return None
    texts = [annotations.get(name) for name in ANNOTATIONS]
    for name, text in zip(ANNOTATIONS, texts, strict=True):
        if text is not None and len(text) > _LONGEST_TEXT:  # before `_read`, which would keep it in its cache
            raise AnnotationError(name, f"{text[:_QUOTED]}…", f"must be no more than {_LONGEST_TEXT} characters")
    found = _read(*texts)
    if isinstance(found, AnnotationError):
        raise AnnotationError(*found.problem)  # a new one: the cached error would keep its traceback alive
    return found


@lru_cache(maxsize=64)  # asked at every attempt
def _read(
    required: str | None, preferred: str | None, slice_level: str | None, slice_size: str | None
) -> Topology | AnnotationError | None:
    try:
        must = _keys(REQUIRED, required)
        level, size = _slices(slice_level, slice_size)
        levels = [*must]
        for key in _keys(PREFERRED, preferred):
            if key in must:
                raise AnnotationError(PREFERRED, preferred or "", f"{key} is required already")
            levels.append(key)
        if level in levels:
            raise AnnotationError(SLICE_LEVEL, level, "the whole group is to be in one domain of it already")
        if len(levels) > _MOST_LEVELS:
            raise AnnotationError(PREFERRED, preferred or "", f"must name no more than {_MOST_LEVELS} levels in all")
    except AnnotationError as error:
        return error.with_traceback(None)
    if not levels and not size:
        return None
    return Topology(tuple(levels), len(must), slice_size=size, slice_level=level)


def _keys(annotation: str, text: str | None) -> list[str]:
    """Label keys, separated by commas; nothing where the annotation is absent."""
    if text is None:
        return []
    keys = [key.strip() for key in text.split(",")]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            raise AnnotationError(annotation, text, f"{key} is named twice")
        if faults := label_key_faults(key):
            raise AnnotationError(annotation, text, "; ".join(faults))
    if len(keys) > _MOST_LEVELS:
        raise AnnotationError(annotation, text, f"must name no more than {_MOST_LEVELS} levels")
    return keys


def _slices(level: str | None, size: str | None) -> tuple[str, int]:
    if level is None and size is None:
        return "", 0
    number = 0 if size is None else _size(size)
    if level is None:
        raise AnnotationError(SLICE_SIZE, size or "", f"{SLICE_LEVEL} must be set, too")
    [key, *more] = _keys(SLICE_LEVEL, level)
    if more:
        raise AnnotationError(SLICE_LEVEL, level, "must be one label key")
    if size is None:
        raise AnnotationError(SLICE_LEVEL, level, f"{SLICE_SIZE} must be set, too")
    return key, number


def _size(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_SIZE else 0
    if number < 1:
        raise AnnotationError(SLICE_SIZE, text, "should be an integer greater than 0")
    return number
