"""Provider `aws`: EC2 instances, spot requests that are persistent and stop among them."""
