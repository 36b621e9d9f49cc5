"""bitsandbytes: 4 and 8 bit weights and optimizers."""
