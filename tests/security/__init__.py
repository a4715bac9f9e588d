"""Users who do not trust one another on a shared scheduler, and the bounds that hold all the same."""
