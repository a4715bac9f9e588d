"""Defragmentation: which running pods to move so that waiting pods start, or so that nodes become free.

`muster defrag` and the web pages call `planner`, which proposes moves; `carrying` evicts pods by a proposal when a
person says so. What belongs here: what may be moved (`movable`), the arithmetic of free capacity (`capacity`), the
sets of pods that are worth a trial (`bundles`, `choices`), the trial of one set by the engine (`trial`), and the
searches (`starting`, `freeing`).
"""
