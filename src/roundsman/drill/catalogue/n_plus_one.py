"""A release that asks for each product by itself instead of joining."""

from __future__ import annotations

from collections.abc import Callable

from roundsman.drill.drill import Check, Drill, Recording, Truth
from roundsman.drill.lab import Lab

_PATCH = (
    """    return await ask(
        connection,
        "SELECT l.product_id, count(*), sum(l.quantity * p.price) FROM order_lines l "
        "JOIN products p ON p.id = l.product_id WHERE l.customer_id = %s GROUP BY l.product_id",
        customer,
    )
""",
    """    lines = await ask(
        connection,
        "SELECT product_id, count(*), sum(quantity) FROM order_lines "
        "WHERE customer_id = %s GROUP BY product_id",
        customer,
    )
    priced = []
    for product, count, quantity in lines:
        found = await ask(connection, "SELECT price FROM products WHERE id = %s", product)
        priced.append((product, count, quantity * found[0][0]))
    return priced
""",
)
_PRODUCTS = 800


class NPlusOne(Drill):
    """One statement for a basket becomes one for each of its products."""

    name = "n-plus-one"
    about = "a release asks the database once a product instead of once a basket"

    def lab(self, baseline: float, say: Callable[[str], None]) -> Lab:
        # every customer has bought every product
        return Lab(self.names, rows=80_000, products=_PRODUCTS, say=say)

    def inject(self, lab: Lab) -> None:
        lab.deploy(lab.checkout, "v1.5.0", "price lines one by one", patches=[_PATCH])

    def truth(self) -> Truth:
        return Truth(
            self.names.checkout, "v1.5.0", "n_plus_one",
            f"a basket of {_PRODUCTS} products takes {_PRODUCTS + 1} statements instead of one",
        )  # fmt: skip

    def check(self, recording: Recording) -> list[Check]:
        names = recording.names
        return [
            recording.rises(names.checkout, "db_queries_rate", 300, factor=8),
            recording.rises(names.checkout, "db_query_duration_p50", 0.05, factor=5),
            recording.rises(names.database, 'pg_table_index_scans_rate{relname="products"', 300),
            recording.rises(names.gateway, "http_request_duration_p90", 0.5),
            recording.alert(),
        ]
