"""The real `muster run` on a real API server: what it does to pods, what it says about them, how it begins and ends."""
