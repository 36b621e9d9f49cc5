"""Judgement that problems of several areas share, by subject."""
