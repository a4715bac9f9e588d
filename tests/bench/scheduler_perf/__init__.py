"""Tests of what plays scheduler_perf: what it reads, what it makes of that, and what it measures."""
