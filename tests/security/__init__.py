"""What people who do not trust one another may do to a shared scheduler, and the bounds that hold all the same."""
