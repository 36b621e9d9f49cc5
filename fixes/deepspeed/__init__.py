"""DeepSpeed: configuration, loss scale, ops."""
