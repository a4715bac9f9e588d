"""PreemptionTiming: how long a preemptor waits for a node before it evicts pods, and how long pods run undisturbed.

`plugin` describes how it works; `moments` says from when on both times count, and `retries` who is tried again when.
"""
