"""The interpreter, its packages and their installation."""
