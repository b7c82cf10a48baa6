"""Provider `azure`: virtual machines, Spot VMs that are deallocated when they are evicted among them."""
