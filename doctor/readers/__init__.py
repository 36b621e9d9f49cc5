"""The only code that touches the machine: one reader for each fact, in the room of what it reads."""
