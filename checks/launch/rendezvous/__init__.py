"""Problems of the area launch: ranks and their meeting."""
