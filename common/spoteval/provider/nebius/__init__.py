"""Provider `nebius`: VMs of Nebius Compute, preemptible ones that stop when they are taken among them."""
