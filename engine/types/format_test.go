package types_test

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/engine/types"
)

func TestParseTime(t *testing.T) {
	for text, want := range map[string]string{
		"1970-01-01": "0", "1970-01-01T00:00Z": "0", "1970-01-01T00:00:00": "0", "1970-01-01 00:00:00.5": "500", "1970-01-01t00:00:00,25z": "250",
		"1970-01-01T00:00:00.123456789Z": "123", "1970-01-01T00:00:00.0009Z": "0", "1970-01-01T01:00:00+01:00": "0", "1970-01-01T01:00:00+01": "0",
		"1970-01-01T01:30:00+0130": "0", "1969-12-31T19:00:00-05:00": "0", " 1970-01-02T00:00:00Z ": "86400000", "1969-12-31T23:59:59.999Z": "-1",
		"2000-02-29": "951782400000", "1900-02-28": "-2203977600000", "2026-11-30T20:50:33.123Z": "1796071833123", "9999-12-31T23:59:59.999Z": "253402300799999",
		"0001-01-01": "-62135596800000",
		"":           "NULL", "1970": "NULL", "1970-1-1": "NULL", "1970-13-01": "NULL", "1970-00-01": "NULL", "1970-02-29": "NULL", "1900-02-29": "NULL", "1970-01-32": "NULL",
		"0000-01-01": "NULL", "1970-01-01T": "NULL", "1970-01-01T00": "NULL", "1970-01-01T24:00": "NULL", "1970-01-01T00:60": "NULL", "1970-01-01T00:00:60": "NULL",
		"1970-01-01T00:00:00.": "NULL", "1970-01-01T00:00:00Zx": "NULL", "1970-01-01T00:00:00+24:00": "NULL", "1970-01-01T00:00:00+1": "NULL", "1970-01-01x00:00": "NULL",
		"19700101": "NULL", "1970-01-01T00:00+": "NULL", "-970-01-01": "NULL", "hello": "NULL", "１９７０-01-01": "NULL",
	} {
		got := types.Null(types.Timestamp)
		if ms, ok := types.ParseTime([]byte(text)); ok {
			got = types.TimestampOf(ms)
		}
		if got.String() != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestTimeAgainstTime compares with package time, back and forth.
func TestTimeAgainstTime(t *testing.T) {
	const layout = "2006-01-02T15:04:05.000Z"
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-62135596800000, 253402300799999).Draw(t, "ms")
		text, ok := types.AppendTime(nil, ms)
		if want := time.UnixMilli(ms).UTC().Format(layout); !ok || string(text) != want {
			t.Fatalf("%d: %s, want %s", ms, text, want)
		}
		if back, ok := types.ParseTime(text); !ok || back != ms {
			t.Fatalf("%s: %d, want %d", text, back, ms)
		}
		zone := time.FixedZone("", rapid.IntRange(-23*60-59, 23*60+59).Draw(t, "zone")*60)
		zoned := time.UnixMilli(ms).In(zone)
		if y := zoned.Year(); y < 1 || y > 9999 {
			return
		}
		if back, ok := types.ParseTime([]byte(zoned.Format("2006-01-02T15:04:05.000-07:00"))); !ok || back != ms {
			t.Fatalf("%v: %d, want %d", zoned, back, ms)
		}
	})
	for _, ms := range []int64{math.MinInt64, -62135596800001, 253402300800000, math.MaxInt64} {
		if text, ok := types.AppendTime(nil, ms); ok {
			t.Errorf("%d has the text %s", ms, text)
		}
	}
}

func TestAppendDouble(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 15: "15", -1.5: "-1.5", 0.1: "0.1", 1e20: "100000000000000000000", 1e21: "1e+21", 1.5e300: "1.5e+300",
		0.000001: "0.000001", 1e-7: "1e-7", 1.5e-10: "1.5e-10", 5e-324: "5e-324", math.Inf(1): "Infinity",
	} {
		if got := string(types.AppendDouble(nil, f)); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
	// The format is that of encoding/json, so that every client reads it.
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return
		}
		got := string(types.AppendDouble(nil, f))
		want, _ := json.Marshal(types.CanonicalDouble(f))
		if got != string(want) {
			t.Fatalf("%v: %s, want %s", f, got, want)
		}
		if back, err := strconv.ParseFloat(got, 64); err != nil || back != f {
			t.Fatalf("%v comes back as %v, %v", f, back, err)
		}
	})
}

func TestAppendJSONString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		if rapid.Bool().Draw(t, "text") {
			b = []byte(rapid.String().Draw(t, "s"))
		}
		got := types.AppendJSONString(nil, b)
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != string([]rune(string(b))) {
			t.Fatalf("%q: %s, %v", b, got, err)
		}
		if same := types.AppendJSONString(nil, string(b)); string(same) != string(got) {
			t.Fatalf("as text: %s, as bytes: %s", same, got)
		}
	})
}
