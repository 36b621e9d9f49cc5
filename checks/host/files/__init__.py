"""Problems of the area host: files and folders."""
