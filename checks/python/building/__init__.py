"""Problems of the area python: installing and building."""
