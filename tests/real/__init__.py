"""Real training programs that fail for real, and what the doctor says of their output."""
