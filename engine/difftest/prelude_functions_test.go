package difftest_test

// functions are scalar functions and aggregates of ours whose arguments PostgreSQL takes as other types. What a
// function of PostgreSQL refuses is NULL.
const functions = `
CREATE FUNCTION sf.length(s text) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT length(s)::bigint';
CREATE FUNCTION sf.strpos(s text, p text) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT strpos(s, p)::bigint';
CREATE FUNCTION sf.left(s text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT left(s, greatest(-1000, least(1000, n))::int)';
CREATE FUNCTION sf.right(s text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT right(s, greatest(-1000, least(1000, n))::int)';
CREATE FUNCTION sf.lpad(s text, n bigint, f text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS 'SELECT lpad(s, n::int, f)';
CREATE FUNCTION sf.rpad(s text, n bigint, f text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS 'SELECT rpad(s, n::int, f)';
CREATE FUNCTION sf.repeat(s text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS 'SELECT repeat(s, n::int)';
CREATE FUNCTION sf.split_part(s text, p text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS 'SELECT split_part(s, p, n::int)';
CREATE FUNCTION sf.substring(s text, a bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS 'SELECT substring(s, a::int)';
CREATE FUNCTION sf.substring(s text, a bigint, n bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
  'SELECT CASE WHEN n >= 0 THEN substring(s, a::int, n::int) END';
CREATE FUNCTION sf.floor(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT floor(x)';
CREATE FUNCTION sf.ceil(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT ceil(x)';
CREATE FUNCTION sf.sign(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT sign(x)';
CREATE FUNCTION sf.sqrt(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN x >= 0 THEN sqrt(x) END';
CREATE FUNCTION sf.ln(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN x > 0 THEN ln(x) END';

CREATE FUNCTION sf.n(x float8) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT sf.exact(x)';
CREATE FUNCTION sf.n(x bigint) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT x::numeric';
`
