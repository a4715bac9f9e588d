"""Tests of the scheduling queue. Time is a number that the tests move."""
