"""Settings as frozen dataclasses whose fields describe themselves."""
