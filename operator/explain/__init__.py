"""`muster explain`: why a pod goes where it goes, or nowhere.

What belongs here: reading clusters and cases, and printing explanations. What does not: deciding.
"""
