"""Draws what was found. Renderers read the redacted report and judge nothing."""
