"""The system a drill breaks: a gateway, a pooled service behind it, and the service's tables.

`checkout_api.py`, `gateway.py` and `schema.sql` are copied into the drill's Git repository and run
from what was deployed, so that a fault is a commit like any other.
"""
