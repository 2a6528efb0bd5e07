package tpch

// Query is one of the 22 with its number.
type Query struct {
	Number int
	SQL    string
}

// Queries are the 22 in our dialect. The parameters fit the domains of Data. An order of the whole result is left out,
// because a table has none; where the benchmark takes the first rows, the order goes on to a key, so that there are no ties.
var Queries = []Query{
	{1, `SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base, SUM(l_extendedprice * (1 - l_discount)) AS sum_disc,
		SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, AVG(l_quantity) AS avg_qty, AVG(l_extendedprice) AS avg_price,
		AVG(l_discount) AS avg_disc, COUNT(*) AS n FROM lineitem WHERE l_shipdate <= '1998-09-02' GROUP BY l_returnflag, l_linestatus`},
	{2, `SELECT s.s_acctbal, s.s_name, n.n_name, p.p_partkey, p.p_mfgr, s.s_address, s.s_phone, s.s_comment FROM part AS p
		JOIN partsupp AS ps ON p.p_partkey = ps.ps_partkey JOIN supplier AS s ON s.s_suppkey = ps.ps_suppkey
		JOIN nation AS n ON s.s_nationkey = n.n_nationkey JOIN region AS r ON n.n_regionkey = r.r_regionkey
		WHERE p.p_size < 4 AND p.p_type LIKE '%BRASS' AND r.r_name = 'EUROPE' AND ps.ps_supplycost = (SELECT MIN(ps2.ps_supplycost) FROM partsupp AS ps2
		JOIN supplier AS s2 ON s2.s_suppkey = ps2.ps_suppkey JOIN nation AS n2 ON s2.s_nationkey = n2.n_nationkey JOIN region AS r2 ON n2.n_regionkey = r2.r_regionkey
		WHERE ps2.ps_partkey = p.p_partkey AND r2.r_name = 'EUROPE')
		ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100`},
	{3, `SELECT l.l_orderkey, SUM(l.l_extendedprice * (1 - l.l_discount)) AS revenue, o.o_orderdate, o.o_shippriority FROM customer AS c
		JOIN orders AS o ON c.c_custkey = o.o_custkey JOIN lineitem AS l ON l.l_orderkey = o.o_orderkey
		WHERE c.c_mktsegment = 'BUILDING' AND o.o_orderdate < '1995-03-15' AND l.l_shipdate > '1995-03-15'
		GROUP BY l.l_orderkey, o.o_orderdate, o.o_shippriority ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10`},
	{4, `SELECT o.o_orderpriority, COUNT(*) AS n FROM orders AS o WHERE o.o_orderdate >= '1993-07-01' AND o.o_orderdate < '1993-10-01'
		AND EXISTS (SELECT * FROM lineitem AS l WHERE l.l_orderkey = o.o_orderkey AND l.l_commitdate < l.l_receiptdate) GROUP BY o.o_orderpriority`},
	{5, `SELECT n.n_name, SUM(l.l_extendedprice * (1 - l.l_discount)) AS revenue FROM customer AS c JOIN orders AS o ON c.c_custkey = o.o_custkey
		JOIN lineitem AS l ON l.l_orderkey = o.o_orderkey JOIN supplier AS s ON l.l_suppkey = s.s_suppkey AND c.c_nationkey = s.s_nationkey
		JOIN nation AS n ON s.s_nationkey = n.n_nationkey JOIN region AS r ON n.n_regionkey = r.r_regionkey
		WHERE r.r_name = 'ASIA' AND o.o_orderdate >= '1993-01-01' AND o.o_orderdate < '1997-01-01' GROUP BY n.n_name`},
	{6, `SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01'
		AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24`},
	{7, `SELECT v.supp_nation, v.cust_nation, v.l_year, SUM(v.volume) AS revenue FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation,
		LEFT(l.l_shipdate, 4) AS l_year, l.l_extendedprice * (1 - l.l_discount) AS volume FROM supplier AS s JOIN lineitem AS l ON s.s_suppkey = l.l_suppkey
		JOIN orders AS o ON o.o_orderkey = l.l_orderkey JOIN customer AS c ON c.c_custkey = o.o_custkey JOIN nation AS n1 ON s.s_nationkey = n1.n_nationkey
		JOIN nation AS n2 ON c.c_nationkey = n2.n_nationkey WHERE (n1.n_name < 'E' AND n2.n_name >= 'E' OR n1.n_name >= 'R' AND n2.n_name < 'C')
		AND l.l_shipdate BETWEEN '1995-01-01' AND '1996-12-31') AS v GROUP BY v.supp_nation, v.cust_nation, v.l_year`},
	{8, `SELECT v.o_year, SUM(CASE WHEN v.nation = 'BRAZIL' THEN v.volume ELSE 0.0 END) / SUM(v.volume) AS mkt_share FROM (SELECT LEFT(o.o_orderdate, 4) AS o_year,
		l.l_extendedprice * (1 - l.l_discount) AS volume, n2.n_name AS nation FROM part AS p JOIN lineitem AS l ON p.p_partkey = l.l_partkey
		JOIN supplier AS s ON s.s_suppkey = l.l_suppkey JOIN orders AS o ON l.l_orderkey = o.o_orderkey JOIN customer AS c ON o.o_custkey = c.c_custkey
		JOIN nation AS n1 ON c.c_nationkey = n1.n_nationkey JOIN region AS r ON n1.n_regionkey = r.r_regionkey JOIN nation AS n2 ON s.s_nationkey = n2.n_nationkey
		WHERE r.r_name = 'AMERICA' AND o.o_orderdate BETWEEN '1995-01-01' AND '1996-12-31' AND p.p_type LIKE 'ECONOMY%') AS v GROUP BY v.o_year`},
	{9, `SELECT v.nation, v.o_year, SUM(v.amount) AS profit FROM (SELECT n.n_name AS nation, LEFT(o.o_orderdate, 4) AS o_year,
		l.l_extendedprice * (1 - l.l_discount) - ps.ps_supplycost * l.l_quantity AS amount FROM part AS p JOIN lineitem AS l ON p.p_partkey = l.l_partkey
		JOIN supplier AS s ON s.s_suppkey = l.l_suppkey JOIN partsupp AS ps ON ps.ps_suppkey = l.l_suppkey AND ps.ps_partkey = l.l_partkey
		JOIN orders AS o ON o.o_orderkey = l.l_orderkey JOIN nation AS n ON s.s_nationkey = n.n_nationkey WHERE p.p_name LIKE '%green%') AS v
		GROUP BY v.nation, v.o_year`},
	{10, `SELECT c.c_custkey, c.c_name, SUM(l.l_extendedprice * (1 - l.l_discount)) AS revenue, c.c_acctbal, n.n_name, c.c_address, c.c_phone, c.c_comment
		FROM customer AS c JOIN orders AS o ON c.c_custkey = o.o_custkey JOIN lineitem AS l ON l.l_orderkey = o.o_orderkey
		JOIN nation AS n ON c.c_nationkey = n.n_nationkey WHERE o.o_orderdate >= '1993-10-01' AND o.o_orderdate < '1994-01-01' AND l.l_returnflag = 'R'
		GROUP BY c.c_custkey, c.c_name, c.c_acctbal, c.c_phone, n.n_name, c.c_address, c.c_comment ORDER BY revenue DESC, c_custkey LIMIT 20`},
	{11, `SELECT ps.ps_partkey, SUM(ps.ps_supplycost * ps.ps_availqty) AS v FROM partsupp AS ps JOIN supplier AS s ON ps.ps_suppkey = s.s_suppkey
		JOIN nation AS n ON s.s_nationkey = n.n_nationkey WHERE n.n_name < 'G' GROUP BY ps.ps_partkey
		HAVING SUM(ps.ps_supplycost * ps.ps_availqty) > (SELECT SUM(ps2.ps_supplycost * ps2.ps_availqty) * 0.01 FROM partsupp AS ps2
		JOIN supplier AS s2 ON ps2.ps_suppkey = s2.s_suppkey JOIN nation AS n2 ON s2.s_nationkey = n2.n_nationkey WHERE n2.n_name < 'G')`},
	{12, `SELECT l.l_shipmode, SUM(CASE WHEN o.o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high,
		SUM(CASE WHEN o.o_orderpriority NOT IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS low FROM orders AS o JOIN lineitem AS l ON o.o_orderkey = l.l_orderkey
		WHERE l.l_shipmode IN ('MAIL', 'SHIP') AND l.l_commitdate < l.l_receiptdate AND l.l_shipdate < l.l_commitdate
		AND l.l_receiptdate >= '1994-01-01' AND l.l_receiptdate < '1995-01-01' GROUP BY l.l_shipmode`},
	{13, `SELECT v.c_count, COUNT(*) AS custdist FROM (SELECT c.c_custkey AS k, COUNT(o.o_orderkey) AS c_count FROM customer AS c
		LEFT JOIN orders AS o ON c.c_custkey = o.o_custkey AND o.o_comment NOT LIKE '%special%requests%' GROUP BY c.c_custkey) AS v GROUP BY v.c_count`},
	{14, `SELECT 100.0 * SUM(CASE WHEN p.p_type LIKE 'PROMO%' THEN l.l_extendedprice * (1 - l.l_discount) ELSE 0.0 END) / SUM(l.l_extendedprice * (1 - l.l_discount)) AS promo
		FROM lineitem AS l JOIN part AS p ON l.l_partkey = p.p_partkey WHERE l.l_shipdate >= '1995-09-01' AND l.l_shipdate < '1995-10-01'`},
	{15, `WITH revenue AS (SELECT l_suppkey AS supplier_no, SUM(l_extendedprice * (1 - l_discount)) AS total FROM lineitem
		WHERE l_shipdate >= '1996-01-01' AND l_shipdate < '1996-04-01' GROUP BY l_suppkey)
		SELECT s.s_suppkey, s.s_name, s.s_address, s.s_phone, r.total FROM supplier AS s JOIN revenue AS r ON s.s_suppkey = r.supplier_no
		WHERE r.total = (SELECT MAX(m.total) FROM revenue AS m)`},
	{16, `SELECT p.p_brand, p.p_type, p.p_size, COUNT(DISTINCT ps.ps_suppkey) AS n FROM partsupp AS ps JOIN part AS p ON p.p_partkey = ps.ps_partkey
		WHERE p.p_brand <> 'Brand#11' AND p.p_type NOT LIKE 'MEDIUM POLISHED%' AND p.p_size IN (1, 3, 4, 7, 8)
		AND ps.ps_suppkey NOT IN (SELECT s.s_suppkey FROM supplier AS s WHERE s.s_comment LIKE '%Customer%Complaints%') GROUP BY p.p_brand, p.p_type, p.p_size`},
	{17, `SELECT SUM(l.l_extendedprice) / 7.0 AS yearly FROM lineitem AS l JOIN part AS p ON p.p_partkey = l.l_partkey WHERE p.p_brand = 'Brand#21'
		AND p.p_container LIKE 'MED%' AND l.l_quantity < (SELECT 0.5 * AVG(l2.l_quantity) FROM lineitem AS l2 WHERE l2.l_partkey = p.p_partkey)`},
	{18, `SELECT c.c_name, c.c_custkey, o.o_orderkey, o.o_orderdate, o.o_totalprice, SUM(l.l_quantity) AS q FROM customer AS c
		JOIN orders AS o ON c.c_custkey = o.o_custkey JOIN lineitem AS l ON o.o_orderkey = l.l_orderkey
		WHERE o.o_orderkey IN (SELECT l2.l_orderkey FROM lineitem AS l2 GROUP BY l2.l_orderkey HAVING SUM(l2.l_quantity) > 200)
		GROUP BY c.c_name, c.c_custkey, o.o_orderkey, o.o_orderdate, o.o_totalprice ORDER BY o_totalprice DESC, o_orderdate, o_orderkey LIMIT 100`},
	{19, `SELECT SUM(l.l_extendedprice * (1 - l.l_discount)) AS revenue FROM lineitem AS l JOIN part AS p ON p.p_partkey = l.l_partkey WHERE
		l.l_shipinstruct = 'DELIVER IN PERSON' AND l.l_shipmode IN ('AIR', 'AIR REG') AND (p.p_brand = 'Brand#12' AND p.p_container LIKE 'SM%' AND l.l_quantity BETWEEN 1 AND 21
		OR p.p_brand = 'Brand#22' AND p.p_container LIKE 'MED%' AND l.l_quantity BETWEEN 10 AND 30 OR p.p_brand = 'Brand#31' AND p.p_container LIKE 'LG%' AND l.l_quantity BETWEEN 20 AND 40)`},
	{20, `SELECT s.s_name, s.s_address FROM supplier AS s JOIN nation AS n ON s.s_nationkey = n.n_nationkey WHERE n.n_name > 'F' AND s.s_suppkey IN
		(SELECT ps.ps_suppkey FROM partsupp AS ps WHERE ps.ps_partkey IN (SELECT p.p_partkey FROM part AS p WHERE p.p_name LIKE 'forest%')
		AND ps.ps_availqty > (SELECT 0.5 * SUM(l.l_quantity) FROM lineitem AS l WHERE l.l_partkey = ps.ps_partkey AND l.l_suppkey = ps.ps_suppkey
		AND l.l_shipdate >= '1994-01-01' AND l.l_shipdate < '1996-01-01'))`},
	{21, `SELECT s.s_name, COUNT(*) AS numwait FROM supplier AS s JOIN lineitem AS l1 ON s.s_suppkey = l1.l_suppkey JOIN orders AS o ON o.o_orderkey = l1.l_orderkey
		JOIN nation AS n ON s.s_nationkey = n.n_nationkey WHERE o.o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate AND n.n_name > 'C'
		AND EXISTS (SELECT * FROM lineitem AS l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
		AND NOT EXISTS (SELECT * FROM lineitem AS l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey AND l3.l_receiptdate > l3.l_commitdate)
		GROUP BY s.s_name ORDER BY numwait DESC, s_name LIMIT 100`},
	{22, `SELECT v.code, COUNT(*) AS n, SUM(v.acctbal) AS total FROM (SELECT LEFT(c.c_phone, 2) AS code, c.c_acctbal AS acctbal FROM customer AS c
		WHERE LEFT(c.c_phone, 2) IN ('13', '31', '23', '29', '30', '18', '17', '15', '11') AND c.c_acctbal > (SELECT AVG(c2.c_acctbal) FROM customer AS c2
		WHERE c2.c_acctbal > 0.0 AND LEFT(c2.c_phone, 2) IN ('13', '31', '23', '29', '30', '18', '17', '15', '11'))
		AND NOT EXISTS (SELECT * FROM orders AS o WHERE o.o_custkey = c.c_custkey)) AS v GROUP BY v.code`},
}
