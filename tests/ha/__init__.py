"""Two `muster run` that elect a leader on a real API server whose audit log tells who wrote what, and when."""
