"""Tests of the benchmarks: what they measure, what they refuse to call a result, and what they print."""
