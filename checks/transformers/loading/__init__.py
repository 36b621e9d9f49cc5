"""Problems of the area transformers: loading."""
