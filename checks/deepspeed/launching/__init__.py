"""Problems of the area deepspeed: launching and building."""
