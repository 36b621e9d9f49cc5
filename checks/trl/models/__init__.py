"""Problems of the area trl: models and Liger."""
