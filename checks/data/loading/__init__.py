"""Problems of the area data: loading."""
