-- An in-memory database: inserts, indexes, joins, aggregates and deletes.
.open :memory:
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INT, item TEXT, price REAL);
CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO customers SELECT i, 'customer ' || i, 'city ' || (i % 97) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO orders SELECT i, (i * 7919) % 20000 + 1, 'item ' || (i * 31 % 977),
    (i % 1000) / 7.0 FROM n;
CREATE INDEX by_customer ON orders(customer);
CREATE INDEX by_item ON orders(item, price);
SELECT city, count(*), sum(price) FROM orders JOIN customers ON customer = customers.id
GROUP BY city ORDER BY 3 DESC LIMIT 5;
SELECT item, group_concat(id) FROM orders WHERE price > 140 GROUP BY item LIMIT 3;
UPDATE orders SET item = upper(item) || '!' WHERE id % 3 = 0;
DELETE FROM orders WHERE customer % 5 = 0;
SELECT count(*), sum(length(item)), max(price) FROM orders;
SELECT substr(item, 1, 6), avg(price) FROM orders GROUP BY 1 ORDER BY 2, 1 LIMIT 5;
