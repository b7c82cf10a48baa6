"""The command spoteval."""
