"""Comparing nodes with each other, for problems of many machines."""
