"""Nodes as rows of columns, with the pods counted on them, and the views that plugins get of them.

What belongs here: the columns, the journals of changed rows, views of rows. What does not: who may change them (the
cache), plugins' rules and decisions.
"""
