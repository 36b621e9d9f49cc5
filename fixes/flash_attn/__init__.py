"""flash-attn and the attention that a model asks for."""
