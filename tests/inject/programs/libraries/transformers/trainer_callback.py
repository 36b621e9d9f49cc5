class TrainerCallback:
    """Does nothing at any event."""
