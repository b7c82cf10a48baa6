"""The restarter: starts a stopped instance that is free, affordable and not held; one start at a time."""
