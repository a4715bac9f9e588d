"""`muster simulate`: what it reads, what it says, and that the scheduler then does what it said."""
