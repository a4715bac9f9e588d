"""Tests of the sandbox's own parts: its stand-ins, its memory, loading, and stock clients at work on it."""
