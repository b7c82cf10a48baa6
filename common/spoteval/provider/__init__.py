"""Providers of nodes: one file per kind behind one contract."""
