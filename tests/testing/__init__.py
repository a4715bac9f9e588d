"""The room for tests, tested."""
