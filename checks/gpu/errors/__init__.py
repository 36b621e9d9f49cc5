"""Problems of the area gpu: errors of hardware and driver."""
