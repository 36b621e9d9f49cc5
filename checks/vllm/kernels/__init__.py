"""Problems of the area vllm: kernels and attention."""
