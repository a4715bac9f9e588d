"""Stories of gangs, each told once: in virtual time, and again on a real API server where it takes a `Backend`."""
