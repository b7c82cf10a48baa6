"""The agents, one package each: a pure `decide` and the thin loop around it."""
