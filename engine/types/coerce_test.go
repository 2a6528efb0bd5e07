package types_test

import (
	"math"
	"testing"

	"github.com/streamsforge/streamsforge/engine/types"
)

// TestConvert is the table of contract I.4: TO_LONG, TO_DOUBLE, TO_BOOL, TO_TIMESTAMP and TO_STRING of every kind.
func TestConvert(t *testing.T) {
	s, j, d, l := types.StringOf, types.JsonOf, types.DoubleOf, types.LongOf
	for _, c := range []struct {
		in                          types.Value
		long, double, bool, ts, str string
	}{
		{l(7), "7", "7.0", "true", "7", `"7"`},
		{l(0), "0", "0.0", "false", "0", `"0"`},
		{l(math.MinInt64), "-9223372036854775808", "-9.223372036854775808e+18", "true", "-9223372036854775808", `"-9223372036854775808"`},
		{d(1.9), "1", "1.9", "true", "1", `"1.9"`},
		{d(-1.9), "-1", "-1.9", "true", "-1", `"-1.9"`},
		{d(0), "0", "0.0", "false", "0", `"0"`},
		{d(15), "15", "15.0", "true", "15", `"15"`},
		{d(1e300), "NULL", "1e+300", "true", "NULL", `"1e+300"`},
		{d(9.3e18), "NULL", "9.3e+18", "true", "NULL", `"9300000000000000000"`},
		{d(math.NaN()), "NULL", "NaN", "true", "NULL", `"NaN"`},
		{d(math.Inf(-1)), "NULL", "-Inf", "true", "NULL", `"-Infinity"`},
		{types.BoolOf(true), "1", "1.0", "true", "NULL", `"true"`},
		{types.BoolOf(false), "0", "0.0", "false", "NULL", `"false"`},
		{types.TimestampOf(1500), "1500", "1500.0", "true", "1500", `"1500"`},
		{s("12"), "12", "12.0", "true", "12", `"12"`},
		{s(" -12 "), "-12", "-12.0", "true", "-12", `" -12 "`},
		{s("+12"), "12", "12.0", "true", "12", `"+12"`},
		{s("007"), "7", "7.0", "true", "7", `"007"`},
		{s("9223372036854775807"), "9223372036854775807", "9.223372036854775807e+18", "true", "9223372036854775807", `"9223372036854775807"`},
		{s("9223372036854775808"), "NULL", "9.223372036854775808e+18", "true", "NULL", `"9223372036854775808"`},
		{s("1.5"), "NULL", "1.5", "true", "NULL", `"1.5"`},
		{s("5."), "NULL", "5.0", "true", "NULL", `"5."`},
		{s(".5"), "NULL", "0.5", "true", "NULL", `".5"`},
		{s("1e3"), "NULL", "1000.0", "true", "NULL", `"1e3"`},
		{s("1E-2"), "NULL", "0.01", "true", "NULL", `"1E-2"`},
		{s("1,234,567.5"), "NULL", "1.2345675e+06", "true", "NULL", `"1,234,567.5"`},
		{s("-1,234"), "NULL", "-1234.0", "true", "NULL", `"-1,234"`},
		{s("12,34"), "NULL", "NULL", "true", "NULL", `"12,34"`},
		{s("1234,567"), "NULL", "NULL", "true", "NULL", `"1234,567"`},
		{s("1,234,5"), "NULL", "NULL", "true", "NULL", `"1,234,5"`},
		{s("1,2345"), "NULL", "NULL", "true", "NULL", `"1,2345"`},
		{s(",123"), "NULL", "NULL", "true", "NULL", `",123"`},
		{s(","), "NULL", "NULL", "true", "NULL", `","`},
		{s("1e400"), "NULL", "NULL", "true", "NULL", `"1e400"`},
		{s("0x10"), "NULL", "NULL", "true", "NULL", `"0x10"`},
		{s("1_000"), "NULL", "NULL", "true", "NULL", `"1_000"`},
		{s("NaN"), "NULL", "NULL", "true", "NULL", `"NaN"`},
		{s("Infinity"), "NULL", "NULL", "true", "NULL", `"Infinity"`},
		{s("-"), "NULL", "NULL", "true", "NULL", `"-"`},
		{s("."), "NULL", "NULL", "true", "NULL", `"."`},
		{s("e5"), "NULL", "NULL", "true", "NULL", `"e5"`},
		{s(""), "NULL", "NULL", "false", "NULL", `""`},
		{s("0"), "0", "0.0", "false", "0", `"0"`},
		{s("00"), "0", "0.0", "true", "0", `"00"`},
		{s("true"), "NULL", "NULL", "true", "NULL", `"true"`},
		{s("fAlSe"), "NULL", "NULL", "false", "NULL", `"fAlSe"`},
		{s("no"), "NULL", "NULL", "true", "NULL", `"no"`},
		{s("1970-01-01T00:00:01.5Z"), "NULL", "NULL", "true", "1500", `"1970-01-01T00:00:01.5Z"`},
		{s("1970-01-02"), "NULL", "NULL", "true", "86400000", `"1970-01-02"`},
		{j("12"), "12", "12.0", "true", "12", `"12"`},
		{j("12.9"), "12", "12.9", "true", "12", `"12.9"`},
		{j("-0.0e7"), "0", "0.0", "false", "0", `"-0.0e7"`},
		{j("1e19"), "NULL", "1e+19", "true", "NULL", `"1e19"`},
		{j("1e-400"), "0", "0.0", "true", "0", `"1e-400"`},
		{j(`"1,234.5"`), "NULL", "1234.5", "true", "NULL", `"1,234.5"`},
		{j(`"42"`), "42", "42.0", "true", "42", `"42"`},
		{j(`"4\u0032"`), "42", "42.0", "true", "42", `"42"`},
		{j(`"1970-01-01"`), "NULL", "NULL", "true", "0", `"1970-01-01"`},
		{j(`"0"`), "0", "0.0", "false", "0", `"0"`},
		{j("true"), "1", "1.0", "true", "NULL", `"true"`},
		{j("false"), "0", "0.0", "false", "NULL", `"false"`},
		{j("null"), "NULL", "NULL", "NULL", "NULL", `NULL`},
		{j(`{"a":1}`), "NULL", "NULL", "NULL", "NULL", `"{\"a\":1}"`},
		{j(`[1]`), "NULL", "NULL", "NULL", "NULL", `"[1]"`},
		{types.Null(types.Long), "NULL", "NULL", "NULL", "NULL", `NULL`},
	} {
		for to, want := range map[types.Kind]string{
			types.Long: c.long, types.Double: c.double, types.Bool: c.bool, types.Timestamp: c.ts, types.String: c.str,
		} {
			got := types.Convert(c.in, to)
			if to == types.Double && want == "-9.223372036854775808e+18" {
				want = types.DoubleOf(math.MinInt64).String()
			} else if to == types.Double && (want == "9.223372036854775807e+18" || want == "9.223372036854775808e+18") {
				want = types.DoubleOf(1 << 63).String()
			}
			if got.String() != want || got.Kind() != to {
				t.Errorf("%v %v to %v: %v, want %v", c.in.Kind(), c.in, to, got, want)
			}
		}
	}
}

func TestNumberToLong(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "1.99": "1", "-1.99": "-1", "1e2": "100", "1.25e1": "12", "125e-1": "12", "1e18": "1000000000000000000",
		"9223372036854775807": "9223372036854775807", "9223372036854775807.9": "9223372036854775807", "9223372036854775808": "NULL",
		"-9223372036854775808": "-9223372036854775808", "-9223372036854775808.5": "-9223372036854775808", "-9223372036854775809": "NULL",
		"92233720368547758070e-1": "9223372036854775807", "18446744073709551616": "NULL", "184467440737095516160": "NULL",
		"0.000000000000000000000000000000001e33": "1", "1e99999999999999999999": "NULL", "1e-99999999999999999999": "0",
		"0e99999999999999999999": "0", "": "NULL", "-": "NULL", "01": "NULL", "1.": "NULL", ".1": "NULL", "+1": "NULL", "1e": "NULL", "1 ": "NULL", "1x": "NULL",
	} {
		got := types.Null(types.Long)
		if v, ok := types.NumberToLong([]byte(text)); ok {
			got = types.LongOf(v)
		}
		if got.String() != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	l, d, s, b, ts, j := types.LongOf, types.DoubleOf, types.StringOf, types.BoolOf, types.TimestampOf, types.JsonOf
	nan := d(math.NaN())
	for _, c := range []struct {
		a, b types.Value
		want string // -1, 0, 1, or "never": not equal and not ordered, or NULL
	}{
		{l(1), l(2), "-1"}, {l(1), d(1), "0"}, {d(1.5), l(1), "1"}, {ts(5), l(5), "0"}, {ts(5), d(5.5), "-1"},
		{l(1<<53 + 1), d(1 << 53), "1"}, {d(1 << 53), l(1<<53 + 1), "-1"}, {l(math.MaxInt64), d(1 << 63), "-1"}, {l(math.MinInt64), d(-1 << 63), "0"},
		{l(math.MinInt64), d(-1e19), "1"}, {l(0), d(math.Inf(-1)), "1"}, {l(0), nan, "-1"}, {nan, nan, "0"}, {d(math.Inf(1)), nan, "-1"}, {nan, d(1), "1"},
		{d(-0.5), l(0), "-1"}, {l(0), d(-0.5), "1"}, {l(-1), d(-1.5), "1"},
		{s("a"), s("b"), "-1"}, {s("B"), s("a"), "-1"}, {s(""), s(""), "0"}, {s("é"), s("z"), "1"},
		{b(false), b(true), "-1"}, {b(true), b(true), "0"},
		{l(1), s("1"), "never"}, {s("1"), d(1), "never"}, {b(true), l(1), "never"}, {s("true"), b(true), "never"}, {ts(1), s("1"), "never"},
		{j("1"), l(1), "never"}, {j("{}"), j("{}"), "0"}, {j("1"), j("2"), "-1"},
		{types.Null(types.Long), l(1), "NULL"}, {s("a"), types.Null(types.Unknown), "NULL"}, {j("1"), types.Null(types.Unknown), "NULL"},
	} {
		for flip, v := range [][2]types.Value{{c.a, c.b}, {c.b, c.a}} {
			n, ok := types.Compare(v[0], v[1])
			eq, known := types.Equal(v[0], v[1])
			if flip == 1 {
				n = -n
			}
			got := "never"
			switch {
			case !known:
				got = "NULL"
			case ok:
				got = map[int]string{-1: "-1", 0: "0", 1: "1"}[n]
			}
			if got != c.want || eq != (c.want == "0") {
				t.Errorf("%v %v against %v %v: %s, equal %v; want %s", v[0].Kind(), v[0], v[1].Kind(), v[1], got, eq, c.want)
			}
		}
	}
}

func TestComparisonOf(t *testing.T) {
	order := []types.Kind{types.String, types.Double, types.Long, types.Bool, types.Timestamp, types.Json, types.Unknown}
	want := [][]types.Comparison{
		{types.Textual, types.Never, types.Never, types.Never, types.Never, types.Refused, types.AlwaysNull},
		{types.Never, types.Numeric, types.Numeric, types.Never, types.Numeric, types.Refused, types.AlwaysNull},
		{types.Never, types.Numeric, types.Numeric, types.Never, types.Numeric, types.Refused, types.AlwaysNull},
		{types.Never, types.Never, types.Never, types.Boolean, types.Never, types.Refused, types.AlwaysNull},
		{types.Never, types.Numeric, types.Numeric, types.Never, types.Numeric, types.Refused, types.AlwaysNull},
		{types.Refused, types.Refused, types.Refused, types.Refused, types.Refused, types.Refused, types.AlwaysNull},
		{types.AlwaysNull, types.AlwaysNull, types.AlwaysNull, types.AlwaysNull, types.AlwaysNull, types.AlwaysNull, types.AlwaysNull},
	}
	for i, a := range order {
		for k, b := range order {
			if got := types.ComparisonOf(a, b); got != want[i][k] {
				t.Errorf("%v with %v: %v, want %v", a, b, got, want[i][k])
			}
		}
	}
}

func TestIdentical(t *testing.T) {
	if types.Identical(types.LongOf(1), types.DoubleOf(1)) || types.Identical(types.StringOf(""), types.Null(types.String)) ||
		!types.Identical(types.DoubleOf(math.NaN()), types.DoubleOf(math.Float64frombits(0x7ff8000000000055))) ||
		!types.Identical(types.DoubleOf(0), types.DoubleOf(math.Copysign(0, -1))) {
		t.Error("identity does not follow the canonical record")
	}
}
