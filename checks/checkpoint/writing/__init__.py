"""Problems of the area checkpoint: writing and resuming."""
