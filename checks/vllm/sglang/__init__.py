"""Problems of the area vllm: SGLang."""
