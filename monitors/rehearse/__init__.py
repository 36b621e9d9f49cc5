"""What a rehearsal carries into every process of a command: names are replaced, functions are the user's own."""
