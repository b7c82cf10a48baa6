"""Everything that makes a run without a cloud real: market, node, model server."""
