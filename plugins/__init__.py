"""The plugins: one package per family, and the catalog of all plugins, Muster's own and installed ones.

What belongs here: rules that decide about pods and nodes, written against `muster.framework.contract`. What does not:
imports from another family, and I/O (plugins reach the cluster through their handle).
"""
