"""Drills: a run of our own, stops that nobody warned of, and what must have come of them."""
