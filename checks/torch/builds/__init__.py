"""Problems of the area torch: builds of torch and the GPUs they find."""
