"""Marks an interruption, stops the run in order, and has its results published, within the notice."""
