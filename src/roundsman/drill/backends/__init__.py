"""The programs of a drill, one module each: how it is configured, started and known to be ready."""
