"""Explanations of decisions: why a pod or a group is, or would be, where it is, or why it finds no node.

What belongs here: reading clusters and cases, trying pods and groups on them, and the explanations as text and as data.
What does not: deciding, which is the engine's. `muster explain`, `why`, `groups`, `quotas`, `top`, `web` and
`simulate` use it.
"""
