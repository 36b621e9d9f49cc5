"""Problems of the area nccl: collectives and peers."""
