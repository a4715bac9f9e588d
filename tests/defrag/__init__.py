"""`muster defrag`: what may be moved, which moves are proposed, and what happens when they are carried out."""
