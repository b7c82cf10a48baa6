"""Provider `gcp`: VMs of Compute Engine, Spot VMs that stop when they are taken among them."""
