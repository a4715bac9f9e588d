"""Muster's engine without a cluster: virtual time, an event loop that ends when there is nothing to do, and a driver.

Tests (`muster.testing`), rehearsals (`simulate`, `why`), replays and still snapshots (`explain`) run the engine on
this. When it is settled is counted, never guessed: all callbacks that are ready lie in a loop of the engine's own, all
timers in its clock, and callers know the calls that left the process.
"""
