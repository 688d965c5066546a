"""Incidents made up by a seed: kinds of fault the recorded sets lack, named in several ways."""
