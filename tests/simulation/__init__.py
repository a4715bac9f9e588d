"""Whole clusters with whole processes in virtual time: seeds that must pass, and bugs that must be found."""
