"""Two `muster run` that elect a leader on a real API server whose audit log shows who wrote what, and when."""
