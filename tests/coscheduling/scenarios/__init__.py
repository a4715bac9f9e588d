"""What went wrong with gangs elsewhere, decided in virtual time: a scenario a module."""
