"""What one pod may ask for at most, so that nobody else waits for it."""
