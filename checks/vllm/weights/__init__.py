"""Problems of the area vllm: weights, adapters and quantization."""
