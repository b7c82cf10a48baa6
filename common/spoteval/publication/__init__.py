"""Publishing and pulling: key names, manifest, pull, verify."""
