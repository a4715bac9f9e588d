"""Quotas: the API, the tree and what is used, who waits, who goes first, and what is evicted for whom."""
