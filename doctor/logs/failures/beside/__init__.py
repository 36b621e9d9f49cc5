"""Exceptions beside the settings and lines of their run: its layout, its switches, what the line puts together."""
