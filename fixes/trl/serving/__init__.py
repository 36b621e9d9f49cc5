"""Fixes of the area trl: serving and what is asked of servers."""
