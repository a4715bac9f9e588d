"""`muster simulate`: would these pods and PodGroups fit, where would each go, and if not, what is missing?

What belongs here: reading manifests and dumps, a scheduler whose bindings have no effect, and the search for what would
make the rest fit. What does not: deciding, and writing to any cluster.
"""
