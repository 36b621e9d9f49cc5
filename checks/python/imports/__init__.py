"""Problems of the area python: imports and packages."""
