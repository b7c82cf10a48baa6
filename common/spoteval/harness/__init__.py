"""Harness adapters: one file per kind behind one contract."""
