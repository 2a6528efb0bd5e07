package difftest_test

import (
	"fmt"
	"strings"
)

// kinds are the PostgreSQL types that stand for our kinds.
var kinds = []string{"text", "float8", "bigint", "boolean", "timestamptz", "jsonb"}

func isNumber(k string) bool { return k == "float8" || k == "bigint" || k == "timestamptz" }

// base is the part of the prelude that does not depend on pairs of kinds.
const base = `
CREATE SCHEMA sf;

-- The exact value of a double. PostgreSQL's own cast keeps 15 digits.
CREATE FUNCTION sf.exact(x float8) RETURNS numeric LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE e int; m bigint; b bytea; u bigint; n numeric;
BEGIN
  IF abs(x) < 1e9 AND x * 1024 = trunc(x * 1024) THEN RETURN (x * 1024)::bigint::numeric / 1024; END IF;
  IF x = 'Infinity' OR x = '-Infinity' THEN RETURN x::numeric; END IF;
  b := float8send(x);
  u := ('x' || encode(b, 'hex'))::bit(64)::bigint;
  e := ((u >> 52) & 2047)::int;
  m := u & 4503599627370495;
  IF e = 0 THEN e := 1; ELSE m := m | 4503599627370496; END IF;
  e := e - 1075;
  -- 2^-k is 5^k / 10^k, so that every digit is there.
  IF e >= 0 THEN n := m * power(2::numeric, e); ELSE n := m * power(5::numeric, -e) * ('1e' || e)::numeric; END IF;
  RETURN CASE WHEN x < 0 THEN -n ELSE n END;
END $$;

-- The nearest double of a number; beyond the largest an infinity.
CREATE FUNCTION sf.nearest(x numeric) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN x::text::float8;
EXCEPTION WHEN numeric_value_out_of_range THEN
  IF abs(x) < 1 THEN RETURN 0; ELSIF x > 0 THEN RETURN 'Infinity'; ELSE RETURN '-Infinity'; END IF;
END $$;

CREATE FUNCTION sf.number(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION sf.number(x bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT x::float8';
CREATE FUNCTION sf.number(x timestamptz) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT (extract(epoch FROM x) * 1000)::float8';
CREATE FUNCTION sf.ms(x timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT (extract(epoch FROM x) * 1000)::bigint';
CREATE FUNCTION sf.time(x bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$SELECT to_timestamp(x / 1000) + (x % 1000) * interval '1 millisecond'$$;

CREATE FUNCTION sf.fit(x numeric) RETURNS bigint LANGUAGE sql IMMUTABLE AS
  'SELECT CASE WHEN x BETWEEN -9223372036854775808 AND 9223372036854775807 THEN x::bigint END';
CREATE FUNCTION sf.nan(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$SELECT NULLIF(x, 'NaN')$$;

-- Arithmetic of doubles: IEEE with infinities, where PostgreSQL raises; what is no number is NULL.
CREATE FUNCTION sf.f_add(a float8, b float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF abs(a) < 1e307 AND abs(b) < 1e307 THEN RETURN a + b; END IF;
  BEGIN RETURN NULLIF(a + b, 'NaN');
  EXCEPTION WHEN numeric_value_out_of_range THEN RETURN CASE WHEN a > 0 THEN 'Infinity' ELSE '-Infinity' END; END;
END $$;
CREATE FUNCTION sf.f_mul(a float8, b float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF (abs(a) BETWEEN 1e-140 AND 1e140 OR a = 0) AND (abs(b) BETWEEN 1e-140 AND 1e140 OR b = 0) THEN RETURN a * b; END IF;
  BEGIN RETURN NULLIF(a * b, 'NaN');
  EXCEPTION WHEN numeric_value_out_of_range THEN
    IF ln(abs(a)) + ln(abs(b)) < 0 THEN RETURN 0; END IF;
    RETURN CASE WHEN (a > 0) = (b > 0) THEN 'Infinity' ELSE '-Infinity' END; END;
END $$;
CREATE FUNCTION sf.f_div(a float8, b float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF b = 0 THEN RETURN NULL; END IF;
  BEGIN RETURN NULLIF(a / b, 'NaN');
  EXCEPTION WHEN numeric_value_out_of_range THEN
    IF abs(a) < abs(b) THEN RETURN 0; END IF;
    RETURN CASE WHEN (a > 0) = (b > 0) THEN 'Infinity' ELSE '-Infinity' END; END;
END $$;
CREATE FUNCTION sf.f_mod(a float8, b float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF b = 0 OR abs(a) = 'Infinity' THEN RETURN NULL; END IF;
  IF abs(b) = 'Infinity' THEN RETURN a; END IF;
  RETURN sf.nearest(mod(sf.exact(a), sf.exact(b)));
END $$;
CREATE FUNCTION sf.l_mod(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN b <> 0 THEN mod(a, b) END';
CREATE FUNCTION sf.cmp_lf(a bigint, b float8) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF b >= 9223372036854775808 THEN RETURN -1; ELSIF b < -9223372036854775808 THEN RETURN 1; END IF;
  IF a < trunc(b)::bigint THEN RETURN -1; ELSIF a > trunc(b)::bigint THEN RETURN 1; END IF;
  RETURN CASE WHEN b > trunc(b) THEN -1 WHEN b < trunc(b) THEN 1 ELSE 0 END;
END $$;

CREATE FUNCTION sf.neg(x bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT sf.fit(-(x::numeric))';
CREATE FUNCTION sf.neg(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT 0 - x';
CREATE FUNCTION sf.abs(x bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT sf.fit(abs(x::numeric))';
CREATE FUNCTION sf.abs(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT abs(x)';
CREATE FUNCTION sf.round(x bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION sf.round(x bigint, d float8) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN d IS NOT NULL THEN x END';
-- Half away from zero, of the decimal digits that the number prints.
CREATE FUNCTION sf.round(x float8, d float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF abs(x) >= 4503599627370496 THEN RETURN x; END IF;
  RETURN sf.nearest(round(x::text::numeric, greatest(0, least(400, trunc(d)))::int));
END $$;
CREATE FUNCTION sf.round(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT sf.round(x, 0)';

CREATE FUNCTION sf.str(x text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION sf.str(x bigint) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT x::text';
CREATE FUNCTION sf.str(x boolean) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT x::text';
CREATE FUNCTION sf.str(x timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT sf.ms(x)::text';
CREATE FUNCTION sf.str(x jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT CASE WHEN jsonb_typeof(x) IN ('object', 'array') THEN replace(replace(x::text, ', ', ','), ': ', ':') ELSE x #>> '{}' END$$;
CREATE FUNCTION sf.str(x float8) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF abs(x) = 'Infinity' THEN RETURN x::text; END IF;
  IF x <> 0 AND (abs(x) < 1e-6 OR abs(x) >= 1e21) THEN RETURN regexp_replace(x::text, 'e-0', 'e-'); END IF;
  RETURN CASE WHEN x = 0 THEN '0' ELSE trim_scale(x::text::numeric)::text END;
END $$;
CREATE FUNCTION sf.iso(x timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT to_char(x AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')$$;

CREATE FUNCTION sf.to_long(x bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION sf.to_long(x boolean) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT x::int::bigint';
CREATE FUNCTION sf.to_long(x timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT sf.ms(x)';
CREATE FUNCTION sf.to_long(x float8) RETURNS bigint LANGUAGE sql IMMUTABLE AS
  'SELECT CASE WHEN x >= -9223372036854775808 AND x < 9223372036854775808 THEN trunc(x)::bigint END';
CREATE FUNCTION sf.to_long(x text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF x ~ '^[ \t\n\v\f\r]*[-+]?[0-9]+[ \t\n\v\f\r]*$' THEN RETURN sf.fit(trim(E' \t\n\v\f\r' FROM x)::numeric); END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION sf.to_long(x jsonb) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN CASE jsonb_typeof(x) WHEN 'number' THEN sf.fit(trunc(x::numeric)) WHEN 'string' THEN sf.to_long(x #>> '{}')
    WHEN 'boolean' THEN (x::boolean)::int END;
END $$;
CREATE FUNCTION sf.to_double(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION sf.to_double(x bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT x::float8';
CREATE FUNCTION sf.to_double(x boolean) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT x::int::float8';
CREATE FUNCTION sf.to_double(x timestamptz) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT sf.number(x)';
CREATE FUNCTION sf.to_double(x text) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE v text := trim(E' \t\n\v\f\r' FROM x);
BEGIN
  IF v ~ '^[-+]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?([eE][-+]?[0-9]+)?$' THEN v := replace(v, ',', ''); END IF;
  IF v !~ '^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$' THEN RETURN NULL; END IF;
  RETURN v::float8;
EXCEPTION WHEN numeric_value_out_of_range THEN
  RETURN CASE WHEN v ~ '[eE]-' THEN 0 END;
END $$;
CREATE FUNCTION sf.to_double(x jsonb) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN CASE jsonb_typeof(x) WHEN 'number' THEN sf.to_double(x::text) WHEN 'string' THEN sf.to_double(x #>> '{}')
    WHEN 'boolean' THEN (x::boolean)::int END;
END $$;
CREATE FUNCTION sf.to_bool(x boolean) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION sf.to_bool(x bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT x <> 0';
CREATE FUNCTION sf.to_bool(x float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT x <> 0';
CREATE FUNCTION sf.to_bool(x text) RETURNS boolean LANGUAGE sql IMMUTABLE AS
  $$SELECT CASE WHEN x IS NOT NULL THEN lower(x) NOT IN ('', '0', 'false') END$$;
CREATE FUNCTION sf.to_timestamp(x timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION sf.to_timestamp(x bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS 'SELECT sf.time(x)';

CREATE FUNCTION sf.upper(x text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT upper(x)';
CREATE FUNCTION sf.lower(x text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT lower(x)';
CREATE FUNCTION sf.get(x jsonb, k text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$SELECT NULLIF(x -> k, 'null')$$;
CREATE FUNCTION sf.get(x jsonb, k bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE AS
  $$SELECT CASE WHEN jsonb_typeof(x) = 'array' AND k >= 0 THEN NULLIF(x -> k::int, 'null') END$$;
CREATE FUNCTION sf.elements(x jsonb) RETURNS SETOF jsonb LANGUAGE sql IMMUTABLE AS
  $$SELECT NULLIF(e, 'null') FROM jsonb_array_elements(CASE WHEN jsonb_typeof(x) = 'array' THEN x END) WITH ORDINALITY AS t(e, n) ORDER BY n$$;

-- Aggregates. A sum of nothing is 0, a sum of doubles is exact and then rounded once; a mean does not overflow on the way.
CREATE FUNCTION sf.s_long(s numeric, x bigint) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT s + COALESCE(x, 0)';
CREATE FUNCTION sf.s_double(s numeric, x float8) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT s + COALESCE(sf.exact(x), 0)';
CREATE FUNCTION sf.s_json(s numeric, x jsonb) RETURNS numeric LANGUAGE sql IMMUTABLE AS
  $$SELECT s + CASE WHEN jsonb_typeof(x) = 'number' THEN sf.exact(sf.to_double(x)) ELSE 0 END$$;
CREATE FUNCTION sf.s_none(s numeric, x text) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT s';
CREATE FUNCTION sf.f_double(s numeric) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT sf.nan(sf.nearest(s))';
CREATE AGGREGATE sf.sum(bigint) (sfunc = sf.s_long, stype = numeric, initcond = '0', finalfunc = sf.fit);
CREATE AGGREGATE sf.sum(float8) (sfunc = sf.s_double, stype = numeric, initcond = '0', finalfunc = sf.f_double);
CREATE AGGREGATE sf.sum(jsonb) (sfunc = sf.s_json, stype = numeric, initcond = '0', finalfunc = sf.f_double);
CREATE AGGREGATE sf.sum(text) (sfunc = sf.s_none, stype = numeric, initcond = '0', finalfunc = sf.f_double);
CREATE FUNCTION sf.mean(s numeric, n bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS
  'SELECT CASE WHEN n <= 0 OR s = ''NaN'' THEN NULL WHEN abs(s) < 1e308 OR abs(s) = ''Infinity'' THEN sf.f_div(sf.nearest(s), n) ELSE sf.nearest(s / n) END';
CREATE TYPE sf.sum_count AS (s numeric, n bigint);
CREATE FUNCTION sf.a_long(a sf.sum_count, x bigint) RETURNS sf.sum_count LANGUAGE plpgsql IMMUTABLE AS
  'BEGIN IF x IS NOT NULL THEN a.s := a.s + x; a.n := a.n + 1; END IF; RETURN a; END';
CREATE FUNCTION sf.a_double(a sf.sum_count, x float8) RETURNS sf.sum_count LANGUAGE plpgsql IMMUTABLE AS
  'BEGIN IF x IS NOT NULL THEN a.s := a.s + sf.exact(x); a.n := a.n + 1; END IF; RETURN a; END';
CREATE FUNCTION sf.f_mean(a sf.sum_count) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT sf.mean(a.s, a.n)';
CREATE AGGREGATE sf.avg(bigint) (sfunc = sf.a_long, stype = sf.sum_count, initcond = '(0,0)', finalfunc = sf.f_mean);
CREATE AGGREGATE sf.avg(float8) (sfunc = sf.a_double, stype = sf.sum_count, initcond = '(0,0)', finalfunc = sf.f_mean);
CREATE FUNCTION sf.t_min(a timestamptz, b timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT AS 'SELECT least(a, b)';
CREATE FUNCTION sf.t_max(a timestamptz, b timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT AS 'SELECT greatest(a, b)';
CREATE AGGREGATE sf.min(bigint) (sfunc = int8smaller, stype = bigint);
CREATE AGGREGATE sf.max(bigint) (sfunc = int8larger, stype = bigint);
CREATE AGGREGATE sf.min(float8) (sfunc = float8smaller, stype = float8);
CREATE AGGREGATE sf.max(float8) (sfunc = float8larger, stype = float8);
CREATE AGGREGATE sf.min(text) (sfunc = text_smaller, stype = text);
CREATE AGGREGATE sf.max(text) (sfunc = text_larger, stype = text);
CREATE AGGREGATE sf.min(boolean) (sfunc = booland_statefunc, stype = boolean);
CREATE AGGREGATE sf.max(boolean) (sfunc = boolor_statefunc, stype = boolean);
CREATE AGGREGATE sf.min(timestamptz) (sfunc = sf.t_min, stype = timestamptz);
CREATE AGGREGATE sf.max(timestamptz) (sfunc = sf.t_max, stype = timestamptz);
`

// prelude is the SQL that makes the schema sf.
func prelude() string {
	var b strings.Builder
	b.WriteString(base)
	b.WriteString(functions)
	define := func(name, a, c, result, body string) {
		fmt.Fprintf(&b, "CREATE FUNCTION sf.%s(a %s, b %s) RETURNS %s LANGUAGE sql IMMUTABLE AS $$SELECT %s$$;\n", name, a, c, result, body)
	}
	for _, a := range kinds {
		for _, c := range kinds {
			arithmetic(define, a, c)
			comparisons(define, a, c)
			define("cat", a, c, "text", "sf.str(a) || sf.str(b)")
			define("coalesce", a, c, a, coalesce(a, c))
			like := "NULL::boolean"
			if a == "text" && c == "text" {
				like = "a LIKE b ESCAPE ''"
			}
			define("like", a, c, "boolean", like)
		}
	}
	return b.String()
}

type definer func(name, a, c, result, body string)

func arithmetic(define definer, a, c string) {
	if a == "jsonb" || c == "jsonb" {
		return
	}
	number := isNumber(a) && isNumber(c)
	for _, op := range []struct{ name, long, double string }{
		{"add", "sf.fit(a::numeric + b)", "sf.f_add(sf.number(a), sf.number(b))"},
		{"sub", "sf.fit(a::numeric - b)", "sf.f_add(sf.number(a), -sf.number(b))"},
		{"mul", "sf.fit(a::numeric * b)", "sf.f_mul(sf.number(a), sf.number(b))"},
		{"mod", "sf.l_mod(a, b)", "sf.f_mod(sf.number(a), sf.number(b))"},
		{"div", "", "sf.f_div(sf.number(a), sf.number(b))"},
	} {
		switch {
		case a == "bigint" && c == "bigint" && op.long != "":
			define(op.name, a, c, "bigint", op.long)
		case number:
			define(op.name, a, c, "float8", op.double)
		default:
			define(op.name, a, c, "float8", "NULL::float8")
		}
	}
}

// comparisons: numbers by value, kinds that do not meet are different and have no order. keyeq is an equality of a
// join, whose keys are typed.
func comparisons(define definer, a, c string) {
	if a == "jsonb" || c == "jsonb" {
		return
	}
	for _, op := range []struct{ name, op string }{{"eq", "="}, {"ne", "<>"}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}} {
		body := "a " + op.op + " b"
		x, y := a, c
		if x == "timestamptz" && y != x {
			x = "bigint"
			body = strings.Replace(body, "a ", "sf.ms(a) ", 1)
		}
		if y == "timestamptz" && x != y && a != c {
			y = "bigint"
			body = body[:len(body)-1] + "sf.ms(b)"
		}
		left, right := strings.Split(body, " ")[0], strings.Split(body, " ")[2]
		switch {
		case x == y:
		case x == "bigint" && y == "float8":
			body = fmt.Sprintf("sf.cmp_lf(%s, %s) %s 0", left, right, op.op)
		case x == "float8" && y == "bigint":
			body = fmt.Sprintf("0 %s sf.cmp_lf(%s, %s)", op.op, right, left)
		case op.op == "=" || op.op == "<>":
			body = fmt.Sprintf("CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN %t END", op.op == "<>")
		default:
			body = "NULL::boolean"
		}
		define(op.name, a, c, "boolean", body)
	}
	if a == c {
		define("keyeq", a, c, "boolean", "a = b")
	} else {
		define("keyeq", a, c, "boolean", "false")
	}
}

// coalesce has the kind of its first argument; the second is converted as CAST does.
func coalesce(a, c string) string {
	if a == c {
		return "coalesce(a, b)"
	}
	to := map[string]string{"text": "sf.str", "float8": "sf.to_double", "bigint": "sf.to_long", "boolean": "sf.to_bool", "timestamptz": "sf.to_timestamp"}[a]
	defined := map[string]bool{"boolean bigint": true, "boolean float8": true, "boolean text": true, "timestamptz bigint": true,
		"text bigint": true, "text float8": true, "text boolean": true, "text timestamptz": true, "text jsonb": true,
		"bigint text": true, "bigint float8": true, "bigint boolean": true, "bigint timestamptz": true, "bigint jsonb": true,
		"float8 text": true, "float8 bigint": true, "float8 boolean": true, "float8 timestamptz": true, "float8 jsonb": true}
	if !defined[a+" "+c] {
		return "a"
	}
	return "coalesce(a, " + to + "(b))"
}
