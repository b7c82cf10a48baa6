"""Object stores: put create-only, put, get, list. There is no delete."""
