"""`muster explain`: why a pod is, or would be, on its node, or why it finds none.

What belongs here: reading clusters and cases, and printing explanations. What does not: deciding.
"""
