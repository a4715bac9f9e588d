"""The terminal program `muster top`: what its keys do, what it draws, and how it does in a terminal."""
