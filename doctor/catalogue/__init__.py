"""What a problem may use: its words, its findings, checks, rules, signatures, and their index."""
