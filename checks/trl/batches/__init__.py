"""Problems of the area trl: batches, groups and lengths."""
