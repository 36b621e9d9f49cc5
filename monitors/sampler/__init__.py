"""The process that samples GPUs, host and processes."""
