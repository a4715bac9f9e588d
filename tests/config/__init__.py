"""Reading, checking and resolving configuration."""
