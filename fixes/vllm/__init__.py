"""vLLM: versions, servers, engine arguments."""
