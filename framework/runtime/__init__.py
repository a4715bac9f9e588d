"""The runtime: runs a profile's plugins in order and combines their answers.

What belongs here: the framework, the guard around calls of plugins, cached verdicts and scores, the nominator, and pods
that wait at Permit. What does not: the queue, changes of the cache, and I/O.

Where to look: `framework` runs PreEnqueue itself and has a part for each later extension point (`pre_filtering`,
`filtering`, `scoring`, `reserving`, `permitting`, `binding` and so on). `plugin_calls` makes every call of a plugin,
and `group_calls` those of group plugins through it; `points` names the calls, `answers` checks the answers,
`call_watch` watches their time. `cached_results` and `nominated_cache` are based on the column cache of `snapshot`.
`standstill` keeps the snapshot as it is during a decision.
"""
