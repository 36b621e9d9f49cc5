"""Problems of the area launch: machines and their GPUs."""
