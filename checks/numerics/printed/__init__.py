"""Problems of the area numerics: what the numbers that a log prints say of each other."""
