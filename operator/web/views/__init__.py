"""The contents of the pages as plain values: a module for each page, with one pure function that computes it.

What belongs here: selecting, counting, sorting and wording. What does not: markup, which is in the templates, and
reading from the cluster, which `routes` does first.
"""
