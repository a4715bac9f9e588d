"""`muster web`: what the cluster waits for and where it is full, as pages in a browser.

What belongs here: the pages and their addresses, what they show as plain values, and what they are kept safe by. What
does not: deciding (`explain`, `simulate`) and following a cluster, but for the one adapter that feeds these pages.

A page is one pure function in `views` that makes a view of what is known, and one template that draws it. Nothing is
written to the cluster, and no page changes anything.
"""
