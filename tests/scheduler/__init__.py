"""The cycles: one step of the engine at a time, with everything around it in the test's hands."""
