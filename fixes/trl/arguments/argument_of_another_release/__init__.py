"""Fixes of rows of argument-of-another-release."""
