"""Notice sources: one file per kind behind one contract."""
