"""The contents of the pages as plain values: a module for each page, with one pure function that computes its view.

What belongs here: choosing, counting, sorting and wording. What does not: markup, which is in the templates, and
reading, which is done before a view is computed.
"""
