"""The cards: health, architecture, what is visible of them."""
