"""Problems of the area verl: settings."""
