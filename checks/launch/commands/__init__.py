"""Problems of the area launch: commands, scripts and settings."""
