"""Problems of the area launch: schedulers and containers."""
