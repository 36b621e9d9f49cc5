"""Problems of the area nccl: networks and nodes."""
