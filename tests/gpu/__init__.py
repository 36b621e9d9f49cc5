"""Tests that need an NVIDIA GPU and a torch that can use it; skipped elsewhere, with the reason."""
