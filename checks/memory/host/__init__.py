"""Problems of the area memory: memory of the host."""
