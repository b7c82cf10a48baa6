"""Ends a run that is complete or out of time: published, held, off."""
