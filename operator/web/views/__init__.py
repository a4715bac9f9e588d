"""What the pages show, as plain values: a module for each page, with one pure function that makes its view.

What belongs here: choosing, counting, sorting and wording. What does not: markup, which is the templates', and asking,
which is done before a view is made.
"""
