"""Percentiles of attempts are read off the buckets that both sides serve."""

import math

import pytest

from bench.scheduler_perf.attempts import METRIC, Attempts, between, buckets, quantile

PAGE = f"""
# TYPE {METRIC} histogram
{METRIC}_bucket{{profile="a",result="scheduled",le="0.001"}} 10
{METRIC}_bucket{{profile="a",result="scheduled",le="0.002"}} 30
{METRIC}_bucket{{profile="a",result="scheduled",le="+Inf"}} 40
{METRIC}_bucket{{le="0.001",profile="b",result="scheduled"}} 1
{METRIC}_bucket{{le="+Inf",profile="b",result="scheduled"}} 2
{METRIC}_bucket{{profile="a",result="unschedulable",le="+Inf"}} 5
{METRIC}_sum{{profile="a",result="scheduled"}} 9
other_bucket{{result="scheduled",le="0.001"}} 99
"""


def test_the_buckets_of_all_profiles_are_added_by_result() -> None:
    assert buckets(PAGE) == {
        "scheduled": {0.001: 11.0, 0.002: 30.0, math.inf: 42.0},
        "unschedulable": {math.inf: 5.0},
    }


def test_a_share_lies_within_its_bucket_and_the_last_finite_bound_stands_for_more() -> None:
    counts = {0.001: 10.0, 0.002: 30.0, math.inf: 40.0}
    assert quantile(counts, 0.125) == pytest.approx(0.0005)
    assert quantile(counts, 0.5) == pytest.approx(0.0015)
    assert quantile(counts, 0.99) == 0.002


def test_attempts_before_the_run_and_results_without_attempts_are_left_out() -> None:
    before = {"scheduled": {0.001: 10.0, math.inf: 10.0}, "error": {0.001: 0.0, math.inf: 3.0}}
    after = {
        "scheduled": {0.001: 30.0, math.inf: 30.0},
        "error": {0.001: 0.0, math.inf: 3.0},
        "unschedulable": {0.001: 0.0, math.inf: 2.0},
    }
    found = between(before, after)
    assert found.keys() == {"scheduled", "unschedulable"}
    scheduled = found["scheduled"]
    assert scheduled.count == 20
    assert (scheduled.p50, scheduled.p90, scheduled.p99) == pytest.approx((0.0005, 0.0009, 0.00099))
    assert found["unschedulable"] == Attempts(2, 0.001, 0.001, 0.001)
