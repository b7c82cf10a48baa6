"""Mechanisms and records for evaluations on machines that may be taken back at any moment."""

__version__ = "0.1.0"
