"""Drills: a real small system, broken on purpose, recorded as an incident folder with its truth.

Nothing is imported here: the parts need the extra `roundsman[drill]`, and `programs` says so.
"""
