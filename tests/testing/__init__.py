"""The tests of the package `testing`."""
