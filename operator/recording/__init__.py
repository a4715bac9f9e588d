"""Recordings: what the engine saw and decided, written down as it happens, and decided again later.

`muster run --record` writes one, `muster replay` reads it. What belongs here: the events of a recording, their file,
who listens to an engine, and who lets another engine live through the same. What the engine itself needs for it (a
clock, randomness and tasks that are given to it) it has anyway.
"""
