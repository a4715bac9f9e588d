"""`muster web`: what the cluster waits for and where it is full, as pages in a browser.

What belongs here: the pages and their routes, their contents as plain values, and their protection. What does not:
deciding (`explain`, `simulate`) and following a cluster, except for the two adapters that feed these pages.

One pure function in `views` computes the contents of a page, and one template renders them. Pages change nothing, and
write nothing to the cluster. A new page also needs a route in `routes`, and its name in the navigation, `_PAGES` in
`templating`; data that no page has yet is added to `cluster` and to the two adapters.
"""
