"""Groups of pods that start whole or not at all: the plugin rule by rule, and the engine with it."""
