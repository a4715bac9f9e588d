"""Room that is kept for whoever has waited long, so that nobody waits for ever."""
