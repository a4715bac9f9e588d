"""Tests of the runtime: the phases of a cycle over real and made-up plugins."""
