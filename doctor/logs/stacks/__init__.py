"""Stacks of running processes that a text quotes: read, told apart, and laid beside each other."""
