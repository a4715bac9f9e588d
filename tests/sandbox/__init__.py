"""What is the sandbox's own: its stand-ins, its memory, loading, and stock clients at work on it."""
