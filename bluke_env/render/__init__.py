"""Showing a match to people."""
