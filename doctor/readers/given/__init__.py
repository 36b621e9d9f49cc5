"""Facts that are only ever given, never collected here."""
