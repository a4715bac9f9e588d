"""Limits on what one pod may request, so that no other pod has to wait for it."""
