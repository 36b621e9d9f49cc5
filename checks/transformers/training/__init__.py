"""Problems of the area transformers: training and generating."""
