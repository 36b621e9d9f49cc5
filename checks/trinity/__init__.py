"""Trinity-RFT."""
