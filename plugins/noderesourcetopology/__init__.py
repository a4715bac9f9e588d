"""NodeResourceTopologyMatch: pods on nodes whose kubelet aligns resources to NUMA nodes.

`plugin` describes how it works. `reports` follows the objects and says which pods each of them includes; `zones` has
what is free in each zone as columns; `alignment` decides with them, `strategies` and `fewest` score.
"""
