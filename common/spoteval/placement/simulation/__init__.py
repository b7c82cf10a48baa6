"""Policies against traces: generated or recorded markets, an engine, and what nobody could beat."""
