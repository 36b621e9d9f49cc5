"""The command line: one thin module per command, imported when called."""
