"""The fingerprint of a set of pods, by which a NodeResourceTopology says which pods its amounts include.

It is the one of the package podfingerprint: the XXH64 of the sorted XXH64 of all pods, each over the pod's name and
seeded with that of its namespace. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

PREFIX = "pfp0v001"
_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_STRIPE = 32


def fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """The fingerprint of pods, each a namespace and a name."""
    hashes = sorted(_of_pod(namespace, name) for namespace, name in pods)
    whole = b"".join(each.to_bytes(8, "little") for each in hashes)
    return f"{PREFIX}{xxh64(whole):016x}"


@lru_cache(maxsize=65536)
def _of_pod(namespace: str, name: str) -> int:
    return xxh64(name.encode(), xxh64(namespace.encode()))


def xxh64(data: bytes, seed: int = 0) -> int:
    """The 64 bits of XXH64."""
    at, length = 0, len(data)
    if length >= _STRIPE:
        lanes = [(seed + _P1 + _P2) & _MASK, (seed + _P2) & _MASK, seed, (seed - _P1) & _MASK]
        while at + _STRIPE <= length:
            for lane in range(4):
                lanes[lane] = _round(lanes[lane], int.from_bytes(data[at : at + 8], "little"))
                at += 8
        found = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            found = ((found ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        found = (seed + _P5) & _MASK
    return _finished(_tail(data[at:], (found + length) & _MASK))


def _tail(rest: bytes, found: int) -> int:
    """The bytes that fill no stripe."""
    at = 0
    while at + 8 <= len(rest):
        found ^= _round(0, int.from_bytes(rest[at : at + 8], "little"))
        found = (_rotated(found, 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= len(rest):
        found ^= (int.from_bytes(rest[at : at + 4], "little") * _P1) & _MASK
        found = (_rotated(found, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in rest[at:]:
        found ^= (byte * _P5) & _MASK
        found = (_rotated(found, 11) * _P1) & _MASK
    return found


def _finished(found: int) -> int:
    found = ((found ^ (found >> 33)) * _P2) & _MASK
    found = ((found ^ (found >> 29)) * _P3) & _MASK
    return found ^ (found >> 32)


def _round(lane: int, word: int) -> int:
    return (_rotated((lane + word * _P2) & _MASK, 31) * _P1) & _MASK


def _rotated(number: int, by: int) -> int:
    return ((number << by) | (number >> (64 - by))) & _MASK
