CREATE TABLE products (
    id integer PRIMARY KEY,
    name text NOT NULL,
    price numeric(8, 2) NOT NULL
);
CREATE TABLE orders (
    id bigserial PRIMARY KEY,
    customer_id integer NOT NULL,
    placed_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE order_lines (
    id bigserial PRIMARY KEY,
    customer_id integer NOT NULL,
    product_id integer NOT NULL,
    quantity integer NOT NULL
);
CREATE TABLE audit (
    order_id bigint NOT NULL,
    written_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX order_lines_customer ON order_lines (customer_id);
