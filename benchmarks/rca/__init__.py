"""Recorded incidents of other people, read and investigated: `python -m benchmarks.rca --help`."""
