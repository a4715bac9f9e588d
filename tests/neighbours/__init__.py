"""Programs of other projects, built and run as they are, with gangs that they create and Muster places."""
