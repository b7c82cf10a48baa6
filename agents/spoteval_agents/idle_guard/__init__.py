"""Ends a machine that nobody uses."""
