"""flash-attn: presence, ABI and the cards that run it."""
