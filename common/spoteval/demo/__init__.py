"""The demo: a real evaluation through preemptions, with everything on this machine."""
