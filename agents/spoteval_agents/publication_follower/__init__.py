"""Publishes finished episodes and the run's records: durable first, parts first, manifest last."""
