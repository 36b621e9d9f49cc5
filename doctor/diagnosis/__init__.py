"""Runs the checks on facts and makes a report of what they find."""
