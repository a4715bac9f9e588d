"""The plugins: one package a family, and the catalogue of what is in the tree and what other packages bring.

What belongs here: rules that decide about pods and nodes, written against `muster.framework.contract`. What does not:
anything of another family, and any I/O (plugins reach the cluster through their handle).
"""
