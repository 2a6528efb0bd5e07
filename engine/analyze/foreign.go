package analyze

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// foreignFunction is a function of another dialect: the function here that takes the same arguments, or how the same is
// said here.
type foreignFunction struct{ same, hint string }

const noClock = "results depend on rows only, there is no clock; use the event time _ts"

var foreignFunctions = map[string]foreignFunction{
	"NVL": {same: "COALESCE"}, "IFNULL": {same: "COALESCE"}, "ISNULL": {same: "COALESCE"}, "ZEROIFNULL": {hint: "write COALESCE(x, 0)"},
	"NVL2": {hint: "write IF(x IS NOT NULL, a, b)"}, "IIF": {same: "IF"}, "DECODE": {hint: "write CASE x WHEN a THEN b ELSE c END"},
	"NOW": {hint: noClock}, "GETDATE": {hint: noClock}, "SYSDATE": {hint: noClock}, "CURRENT_TIMESTAMP": {hint: noClock}, "LOCALTIMESTAMP": {hint: noClock},
	"CURRENT_DATE": {hint: noClock}, "CURRENT_TIME": {hint: noClock}, "UNIX_TIMESTAMP": {hint: noClock}, "PROCTIME": {hint: noClock}, "CURDATE": {hint: noClock},
	"RAND": {hint: "results depend on rows only, nothing is random; hash a key with MD5 or SHA256"}, "RANDOM": {hint: "results depend on rows only, nothing is random; hash a key with MD5 or SHA256"},
	"UUID": {hint: "results depend on rows only; make identifiers at the source, or hash a key with SHA256"}, "NEWID": {hint: "results depend on rows only; make identifiers at the source, or hash a key with SHA256"},
	"DATEADD": {hint: "write t + INTERVAL '1 day'"}, "ADDDATE": {hint: "write t + INTERVAL '1 day'"}, "TIMESTAMPADD": {hint: "write t + INTERVAL '1 day'"},
	"DATEDIFF": {hint: "write a - b, which is milliseconds, and divide"}, "TIMESTAMPDIFF": {hint: "write a - b, which is milliseconds, and divide"},
	"DATEPART": {hint: "write EXTRACT(day FROM t)"}, "YEAR": {hint: "write EXTRACT(year FROM t)"}, "MONTH": {hint: "write EXTRACT(month FROM t)"},
	"DAY": {hint: "write EXTRACT(day FROM t)"}, "HOUR": {hint: "write EXTRACT(hour FROM t)"}, "MINUTE": {hint: "write EXTRACT(minute FROM t)"}, "SECOND": {hint: "write EXTRACT(second FROM t)"},
	"TO_DATE": {hint: "write TO_TIMESTAMP(text)"}, "STR_TO_DATE": {hint: "write TO_TIMESTAMP(text)"}, "PARSE_TIMESTAMP": {hint: "write TO_TIMESTAMP(text)"}, "FROM_UNIXTIME": {hint: "write TO_TIMESTAMP(1000 * seconds)"},
	"DATE_FORMAT": {hint: "write TO_CHAR(t, 'YYYY-MM-DD')"}, "FORMAT": {hint: "write TO_CHAR(t, 'YYYY-MM-DD') for times, TO_STRING(x) for the rest"}, "FORMAT_TIMESTAMP": {hint: "write TO_CHAR(t, 'YYYY-MM-DD')"},
	"TIME_BUCKET": {hint: "write DATE_TRUNC('minute', t)"}, "DATE": {hint: "write DATE_TRUNC('day', t)"}, "MAKE_INTERVAL": {hint: "write INTERVAL '1 day'"},
	"LENGTHB": {same: "LENGTH"}, "CHARACTER_LENGTH": {same: "LENGTH"}, "UCASE": {same: "UPPER"}, "LCASE": {same: "LOWER"}, "TOUPPER": {same: "UPPER"}, "TOLOWER": {same: "LOWER"},
	"CHARINDEX": {same: "POSITION"}, "INSTR": {same: "STRPOS"}, "LOCATE": {same: "POSITION"}, "INDEXOF": {same: "STRPOS"}, "SUBSTRING_INDEX": {hint: "write SPLIT_PART(s, separator, n)"},
	"SPLIT": {hint: "write SPLIT_PART(s, separator, n)"}, "CONCAT_WS": {hint: "write CONCAT(a, ',', b)"}, "INITCAP": {hint: "write CONCAT(UPPER(LEFT(s, 1)), LOWER(SUBSTRING(s, 2)))"}, "STARTSWITH": {same: "STARTS_WITH"}, "ENDSWITH": {same: "ENDS_WITH"},
	"REGEXP_MATCHES": {same: "REGEXP_LIKE"}, "REGEXP_SUBSTR": {same: "REGEXP_EXTRACT"}, "RLIKE": {same: "REGEXP_LIKE"}, "REGEXP_MATCH": {same: "REGEXP_LIKE"},
	"TO_NUMBER": {same: "TO_DOUBLE"}, "TO_INT": {same: "TO_LONG"}, "TO_INTEGER": {same: "TO_LONG"}, "TO_BIGINT": {same: "TO_LONG"}, "TO_FLOAT": {same: "TO_DOUBLE"}, "TO_VARCHAR": {same: "TO_STRING"}, "TO_TEXT": {same: "TO_STRING"}, "TO_BOOLEAN": {same: "TO_BOOL"},
	"CONVERT": {hint: "write CAST(x AS LONG)"}, "TRY_CAST": {hint: "write CAST(x AS LONG): a text that is no number gives NULL"}, "SAFE_CAST": {hint: "write CAST(x AS LONG): a text that is no number gives NULL"},
	"INT": {same: "TO_LONG"}, "BIGINT": {same: "TO_LONG"}, "FLOAT": {same: "TO_DOUBLE"}, "DOUBLE": {same: "TO_DOUBLE"}, "STR": {same: "TO_STRING"},
	"LOG2": {hint: "write LN(x) / LN(2)"}, "CBRT": {hint: "write POWER(x, 1.0 / 3)"}, "TRUNCATE": {same: "TRUNC"}, "SQUARE": {hint: "write x * x"},
	"JSON_VALUE": {hint: "write x ->> 'key'"}, "JSON_QUERY": {hint: "write x -> 'key'"}, "JSON_EXTRACT": {hint: "write x -> 'key'"}, "JSON_EXTRACT_SCALAR": {hint: "write x ->> 'key'"}, "GET_JSON_OBJECT": {hint: "write x ->> 'key'"}, "JSON_EXTRACT_PATH_TEXT": {hint: "write x ->> 'key'"}, "JSONB_EXTRACT_PATH_TEXT": {hint: "write x ->> 'key'"},
	"CARDINALITY": {same: "JSON_ARRAY_LENGTH"}, "ARRAY_LENGTH": {hint: "write JSON_ARRAY_LENGTH(x)"}, "ARRAY_SIZE": {same: "JSON_ARRAY_LENGTH"}, "JSON_LENGTH": {same: "JSON_ARRAY_LENGTH"},
	"EXPLODE": {hint: "write FROM source s, UNNEST(s.column) AS element"}, "FLATTEN": {hint: "write FROM source s, UNNEST(s.column) AS element"}, "JSON_ARRAY_ELEMENTS": {hint: "write FROM source s, UNNEST(s.column) AS element"}, "UNNEST": {hint: "write FROM source s, UNNEST(s.column) AS element"}, "GENERATE_SERIES": {hint: "write WITH RECURSIVE, or send the series as a source"},
	"GROUP_CONCAT": {hint: "write STRING_AGG(x, ',')"}, "LISTAGG": {same: "STRING_AGG"}, "WM_CONCAT": {hint: "write STRING_AGG(x, ',')"}, "COLLECT_LIST": {same: "ARRAY_AGG"}, "COLLECT_SET": {hint: "write ARRAY_AGG(DISTINCT x)"}, "JSON_AGG": {same: "ARRAY_AGG"},
	"MEAN": {same: "AVG"}, "AVERAGE": {same: "AVG"}, "TOTAL": {same: "SUM"}, "STDEV": {same: "STDDEV"}, "STDEVP": {same: "STDDEV_POP"}, "VAR": {same: "VARIANCE"}, "VARP": {same: "VAR_POP"},
	"COUNT_DISTINCT": {hint: "write COUNT(DISTINCT x)"}, "APPROX_DISTINCT": {same: "APPROX_COUNT_DISTINCT"}, "COUNT_IF": {hint: "write COUNT(*) FILTER (WHERE condition)"}, "COUNTIF": {hint: "write COUNT(*) FILTER (WHERE condition)"}, "SUMIF": {hint: "write SUM(x) FILTER (WHERE condition)"}, "SUM_IF": {hint: "write SUM(x) FILTER (WHERE condition)"}, "BIT_AND": {hint: "there are no operators on bits"},
	"MAX_BY": {same: "ARG_MAX"}, "MIN_BY": {same: "ARG_MIN"}, "ARGMAX": {same: "ARG_MAX"}, "ARGMIN": {same: "ARG_MIN"}, "LATEST_BY_OFFSET": {hint: "write ARG_MAX(x, _ts)"}, "EARLIEST_BY_OFFSET": {hint: "write ARG_MIN(x, _ts)"}, "ANY_VALUE": {hint: "write MIN(x), which is the same for the same rows"}, "FIRST": {hint: "write ARG_MIN(x, _ts)"}, "LAST": {hint: "write ARG_MAX(x, _ts)"}, "EVERY": {same: "BOOL_AND"},
	"PERCENTILE": {hint: "write PERCENTILE_CONT(0.95, x)"}, "QUANTILE": {hint: "write PERCENTILE_CONT(0.95, x)"}, "APPROX_PERCENTILE": {hint: "write PERCENTILE_CONT(0.95, x)"}, "PERCENTILE_DISC": {hint: "write PERCENTILE_CONT(0.95, x), which interpolates"}, "MODE": {hint: "count by the value, and take the first with ORDER BY and LIMIT 1"},
	"TUMBLE": {hint: "write WINDOW TUMBLING(SIZE 5 SECONDS) behind GROUP BY"}, "TUMBLING": {hint: "write WINDOW TUMBLING(SIZE 5 SECONDS) behind GROUP BY"}, "TUMBLINGWINDOW": {hint: "write WINDOW TUMBLING(SIZE 5 SECONDS) behind GROUP BY"},
	"HOP": {hint: "write WINDOW HOPPING(SIZE 10 SECONDS, ADVANCE BY 5 SECONDS) behind GROUP BY"}, "HOPPING": {hint: "write WINDOW HOPPING(SIZE 10 SECONDS, ADVANCE BY 5 SECONDS) behind GROUP BY"}, "SESSION": {hint: "write WINDOW SESSION(GAP 5 SECONDS) behind GROUP BY"},
	"TUMBLE_START": {hint: "name the column window_start"}, "TUMBLE_END": {hint: "name the column window_end"}, "HOP_START": {hint: "name the column window_start"}, "HOP_END": {hint: "name the column window_end"}, "SESSION_START": {hint: "name the column window_start"}, "SESSION_END": {hint: "name the column window_end"},
	"SHA1": {hint: "write SHA256(s) or MD5(s)"}, "SHA2": {hint: "write SHA256(s)"}, "HASH": {hint: "write SHA256(s) or MD5(s)"}, "CHR": {hint: "write the character in a string"}, "CHAR": {hint: "write the character in a string"},
}

// foreignFunction replaces hint and fix of the unknown function that was reported last by those of its counterpart. It reports whether there is one.
func (a *analyzer) foreignFunction(name syntax.Ident) bool {
	f, ok := foreignFunctions[strings.ToUpper(name.Name)]
	if !ok {
		return false
	}
	d := &a.ds[len(a.ds)-1]
	d.Hint, d.Fix = f.hint, nil
	if f.same != "" {
		d.Hint, d.Fix = "write "+f.same, syntax.Replace(name.Pos, name.Name, f.same)
	}
	return true
}

// foreignColumns are words that other dialects read without a declaration.
var foreignColumns = map[string]string{
	"CURRENT_TIMESTAMP": noClock, "CURRENT_DATE": noClock, "CURRENT_TIME": noClock, "LOCALTIMESTAMP": noClock, "SYSDATE": noClock, "SYSTIMESTAMP": noClock, "NOW": noClock,
	"ROWTIME": "the event time is _ts", "EVENT_TIME": "the event time is _ts", "TIMESTAMP": "the event time is _ts", "_TIME": "the event time is _ts",
	"ROWNUM": "take the first rows with ORDER BY and LIMIT", "ROWKEY": "name the column of the key",
	"WINDOWSTART": "write window_start, in a query with WINDOW", "WINDOWEND": "write window_end, in a query with WINDOW", "WINDOW_START": "only a query with WINDOW has it",
	"WINDOW_END": "only a query with WINDOW has it", "NAN": "there is no NaN: what has no result is NULL", "INFINITY": "there is no infinity: what has no result is NULL",
	"UNKNOWN": "write NULL", "NIL": "write NULL", "NONE": "write NULL", "UNDEFINED": "write NULL", "YES": "write TRUE", "NO": "write FALSE",
	"DISTINCT": "DISTINCT stands directly behind SELECT or inside an aggregate", "VALUE": "", "DEFAULT": "write COALESCE(x, value)",
}

// foreignColumn says what is meant by the unknown column that was reported last, when another dialect has it.
func (a *analyzer) foreignColumn(name string) {
	if hint := foreignColumns[strings.ToUpper(name)]; hint != "" {
		if d := &a.ds[len(a.ds)-1]; d.Fix == nil {
			d.Hint = hint
		}
	}
}

// literalMeant offers a literal for an unknown column that no other name is near to.
func (a *analyzer) literalMeant(name syntax.Ident) {
	d := &a.ds[len(a.ds)-1]
	if d.Fix != nil || len(name.Name) < 3 {
		return
	}
	if w := syntax.Nearest(strings.ToUpper(name.Name), []string{"TRUE", "FALSE", "NULL", "DISTINCT"}); w != "" {
		d.Hint = `did you mean "` + w + `"?`
		if w != "DISTINCT" {
			d.Fix = syntax.Replace(name.Pos, name.Name, w)
		}
	}
}

// aliasMeant explains the unknown column that was reported last when it is an alias of the select list, or a function
// without its parentheses.
func (b *binder) aliasMeant(c *syntax.ColumnRef) {
	if len(b.ds) == 0 || c.Qualifier != nil || b.scope.sel == nil {
		return
	}
	d := &b.ds[len(b.ds)-1]
	if d.Code != CodeUnknownColumn || d.Pos != c.Pos {
		return
	}
	for _, it := range b.scope.sel.Items {
		if it.Alias == nil || it.Expr == nil || !strings.EqualFold(it.Alias.Name, c.Name.Name) {
			continue
		}
		if at := it.Expr.Position(); at.Offset <= c.Pos.Offset && c.Pos.End <= at.End {
			continue // an item that names itself
		}
		text := syntax.Format(it.Expr)
		switch aggregate := firstAggregate(it.Expr) != nil; {
		case len(text) > 60:
			d.Hint, d.Fix = "it is an alias of the select list, which is not known here; write its expression", nil
		case aggregate && b.clause != "HAVING":
			d.Hint, d.Fix = "it is an alias of "+text+"; filter groups with HAVING "+text, nil
		default:
			d.Hint, d.Fix = "it is an alias of the select list; write "+text, syntax.Replace(c.Pos, c.Name.Name, text)
		}
		return
	}
	if n := c.Name.Name; d.Fix == nil && strings.HasPrefix(d.Hint, "columns: ") && n == strings.ToUpper(n) && len(n) > 1 {
		d.Hint += "; a text is written '" + n + "'"
	}
	if f, found := expr.Lookup(c.Name.Name); d.Fix == nil && found && !f.Operator {
		d.Hint = "it is a function; write " + f.Signature
	} else if a, found := agg.Lookup(c.Name.Name); d.Fix == nil && found {
		d.Hint = "it is an aggregate; write " + a.Signature
	}
}

// foreignTypes are type names of other dialects and the one here.
var foreignTypes = map[string]string{
	"DECIMAL": "DOUBLE", "NUMERIC": "DOUBLE", "NUMBER": "DOUBLE", "REAL": "DOUBLE", "FLOAT4": "DOUBLE", "FLOAT8": "DOUBLE", "FLOAT64": "DOUBLE", "MONEY": "DOUBLE",
	"SMALLINT": "LONG", "TINYINT": "LONG", "MEDIUMINT": "LONG", "INT2": "LONG", "INT4": "LONG", "INT8": "LONG", "INT32": "LONG", "INT64": "LONG", "SIGNED": "LONG", "UNSIGNED": "LONG", "SERIAL": "LONG",
	"CHAR": "STRING", "CHARACTER": "STRING", "NCHAR": "STRING", "NVARCHAR": "STRING", "VARCHAR2": "STRING", "CLOB": "STRING", "UUID": "STRING", "BPCHAR": "STRING",
	"BIT": "BOOL", "DATE": "TIMESTAMP", "DATETIME": "TIMESTAMP", "DATETIME2": "TIMESTAMP", "TIMESTAMPTZ": "TIMESTAMP", "TIME": "TIMESTAMP",
}

// unknownType reports a type name that CAST does not have.
func (a *analyzer) unknownType(t syntax.Ident) {
	hint := "types: STRING, TEXT, DOUBLE [PRECISION], LONG, BIGINT, INT, BOOL, BOOLEAN, TIMESTAMP"
	to := foreignTypes[t.Name]
	if to == "" {
		to = syntax.Nearest(t.Name, castNames)
	}
	switch {
	case t.Name == "JSON" || t.Name == "JSONB" || t.Name == "ARRAY" || t.Name == "OBJECT":
		hint, to = "there is no conversion to Json; "+hint, ""
	case to != "":
		hint = "write " + to
	}
	a.report(t, CodeUnknownType, hint, "no type %q", t.Name)
	if to != "" {
		a.fix(syntax.Replace(t.Pos, t.Name, to))
	}
}

var castNames = []string{"BIGINT", "BOOL", "BOOLEAN", "DOUBLE", "INT", "INTEGER", "LONG", "STRING", "TEXT", "TIMESTAMP", "VARCHAR"}

// lateralMeant explains what was reported in a query in FROM since there were n diagnostics, when it reads a relation
// that stands before it.
func (a *analyzer) lateralMeant(t *syntax.Derived, f *from, n int) {
	if t.Lateral || a.mode == Pipeline {
		return
	}
	for i := n; i < len(a.ds); i++ {
		d := &a.ds[i]
		if d.Code != CodeUnknownAlias {
			continue
		}
		for _, in := range f.scope.inputs {
			if strings.HasSuffix(d.Message, `called "`+in.alias+`"`) {
				d.Hint = "write LATERAL before the query, which then reads the relations before it"
				d.Fix = syntax.Insert(t.Pos, "LATERAL ")
			}
		}
	}
}
