"""Problems of the area deepspeed: settings."""
