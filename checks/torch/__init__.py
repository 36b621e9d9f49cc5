"""torch, its wheels, compile and Triton."""
