"""Problems of the area torch: Triton, compilers and extensions."""
