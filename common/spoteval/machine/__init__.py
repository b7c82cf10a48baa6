"""Facts and effects of the machine, one file per noun; no domain types."""
