"""Recordings: the engine's inputs and decisions, written as they happen, and replayed later.

`muster run --record` writes one, `muster replay` reads it. What belongs here: the events of a recording, their file,
the recorder around an engine, and the replay by another engine. The engine already has what this requires: a clock,
randomness and tasks that are passed to it.
"""
