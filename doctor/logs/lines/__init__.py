"""What single lines mean: prefixes, times, exits, signs of life."""
