"""The pages of `muster web`: what they show, and how they do in a browser."""
