"""Relations that every correct first step keeps, measured without another run of the user's code."""
