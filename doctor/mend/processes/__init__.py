"""Processes of runs that died or stand still: recognised with proof, looked at, ended in order."""
