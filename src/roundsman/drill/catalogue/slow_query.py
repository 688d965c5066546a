"""A schema change that copies a growing table and forgets its index."""

from __future__ import annotations

from collections.abc import Callable

from roundsman.drill.drill import Check, Drill, Recording, Truth
from roundsman.drill.lab import Lab

_MIGRATION = """-- wider numbers for products
CREATE TABLE order_lines_new (LIKE order_lines INCLUDING DEFAULTS);
ALTER TABLE order_lines_new ALTER COLUMN quantity TYPE bigint;
INSERT INTO order_lines_new SELECT * FROM order_lines;
ALTER TABLE order_lines RENAME TO order_lines_old;
ALTER TABLE order_lines_new RENAME TO order_lines;
GRANT ALL ON order_lines TO shop;
"""
_INNOCENT = (
    "-- wider numbers for products\nALTER TABLE products ALTER COLUMN price TYPE numeric(9, 2);\n"
)


class SlowQuery(Drill):
    """Every checkout reads the whole table from then on."""

    name = "slow-query"
    about = "a schema change loses the index of a growing table"

    def lab(self, baseline: float, say: Callable[[str], None]) -> Lab:
        return Lab(self.names, rows=1_200_000, buyers=6_000, say=say)

    def inject(self, lab: Lab) -> None:
        lab.migrate("schema-2", "wider quantities in order_lines", _MIGRATION)

    def instead(self, lab: Lab) -> None:
        lab.migrate("schema-2", "wider prices in products", _INNOCENT)

    def remove(self, lab: Lab) -> None:
        lab.migrate(
            "schema-3", "index order_lines by customer",
            "CREATE INDEX order_lines_customer_2 ON order_lines (customer_id);\n",
        )  # fmt: skip

    def truth(self) -> Truth:
        return Truth(
            self.names.database, "schema-2", "missing_index",
            "the new order_lines has no index on customer_id; every checkout reads all of it",
        )  # fmt: skip

    def check(self, recording: Recording) -> list[Check]:
        names = recording.names
        table = 'pg_table_seq_rows_read_rate{relname="order_lines"'
        return [
            recording.rises(names.database, table, 1_000_000),
            recording.rises(names.checkout, "db_query_duration_p50", 0.05, factor=5),
            recording.rises(names.gateway, "http_request_duration_p90", 0.5, factor=2),
            recording.alert(),
        ]
