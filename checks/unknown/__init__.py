"""Failures that nothing else recognises."""
