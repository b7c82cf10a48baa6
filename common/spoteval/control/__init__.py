"""What agents and operator both do: holds, facts, run control."""
