"""What the bounds cost, measured beside the same work without them: `python -m benchmarks`."""
