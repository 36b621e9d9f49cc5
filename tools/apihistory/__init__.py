"""How the public names of the stack's libraries changed from release to release, read from their sources by `ast`."""
