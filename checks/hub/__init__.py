"""Access to model hubs."""
