"""`muster web`: what the cluster waits for and where it is full, as pages in a browser.

What belongs here: the pages and their addresses, their contents as plain values, and their protection. What does not:
deciding (`explain`, `simulate`) and following a cluster, except for the one adapter that feeds these pages.

A page is one pure function in `views` that computes a view, and one template that renders it. Nothing is written to the
cluster, and no page changes anything.
"""
