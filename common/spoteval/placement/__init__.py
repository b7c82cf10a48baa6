"""The numbers of a placement: stages, lifetimes, costs."""
