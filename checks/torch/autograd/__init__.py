"""Problems of the area torch: tensors and the backward pass."""
