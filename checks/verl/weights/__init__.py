"""Problems of the area verl: weights, adapters and quantization."""
