"""What `doctor serve` adds to vLLM's server at run time, inside the interpreter that has vLLM."""
