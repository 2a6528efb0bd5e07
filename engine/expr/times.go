package expr

import (
	"strconv"
	"strings"
	"time"

	"github.com/streamsforge/streamsforge/engine/types"
)

// timeFunctions compute on Timestamps of the years 1 to 9999, in UTC or in the zone of the last argument (see Zone);
// an unknown unit or zone gives NULL. A Long is milliseconds since the epoch.
var timeFunctions = []scalar{
	{name: "DATE_ADD", sign: "DATE_ADD(t, interval), t + INTERVAL '1 day'", doc: "The time later by an interval such as '1 month 2 days'; months keep the day where there is one.",
		example: "DATE_ADD(TO_TIMESTAMP('2026-01-31'), '1 month') = TO_TIMESTAMP('2026-02-28')", params: kinds(stamp, text), min: 2, max: 2, result: stamp,
		row: func(r *rowArgs) bool { return addInterval(r, 1) }},
	{name: "DATE_SUB", sign: "DATE_SUB(t, interval), t - INTERVAL '1 day'", doc: "The time earlier by an interval.",
		example: "DATE_SUB(TO_TIMESTAMP('2026-03-31'), '1 month') = TO_TIMESTAMP('2026-02-28')", params: kinds(stamp, text), min: 2, max: 2, result: stamp,
		row: func(r *rowArgs) bool { return addInterval(r, -1) }},
	{name: "DATE_TRUNC", sign: "DATE_TRUNC(unit, t [, zone])", doc: "Start of the millisecond, second, minute, hour, day, week (Monday), month, quarter or year.",
		example: "DATE_TRUNC('hour', TO_TIMESTAMP('2026-05-06T07:08:09')) = TO_TIMESTAMP('2026-05-06T07:00:00')", params: kinds(text, stamp, text), min: 2, max: 3, result: stamp, row: dateTrunc},
	{name: "EXTRACT", aliases: []string{"DATE_PART"}, sign: "EXTRACT(unit FROM t), EXTRACT('unit', t [, zone])",
		doc:     "Part of a time: year, quarter, month, week, day, dow (Sunday 0), isodow (Monday 1), doy, hour, minute, second, millisecond or epoch.",
		example: "EXTRACT(hour FROM TO_TIMESTAMP('2026-05-06T07:08:09')) = 7", params: kinds(text, stamp, text), min: 2, max: 3, result: double, row: extract},
	{name: "INTERVAL", sign: "INTERVAL '5 minutes'", doc: "The length in milliseconds, a month as 30 days and a year as 12 months; added to a Timestamp by the calendar.",
		example: "INTERVAL '1 hour 30 minutes' = 5400000", params: kinds(text), min: 1, max: 1, result: long, row: func(r *rowArgs) bool {
			months, ms, ok := ParseInterval(string(r.text(0)))
			r.n = months*30*msDay + ms
			return ok
		}},
	{name: "TO_CHAR", sign: "TO_CHAR(t, pattern [, zone])", doc: "The time as text; the pattern has YYYY YY Q MM Mon Month DD DDD Dy Day HH24 HH12 MI SS MS AM TZ and \"text\".",
		example: "TO_CHAR(TO_TIMESTAMP('2026-05-06T07:08:09'), 'DD.MM.YYYY HH24:MI') = '06.05.2026 07:08'", params: kinds(stamp, text, text), min: 2, max: 3, result: text, row: toChar},
}

const (
	msDay = 86_400_000
	// The years 1 to 9999.
	firstMs = -62135596800000
	lastMs  = 253402300799999
)

// moment reads argument k as a time in the zone of argument zone.
func (r *rowArgs) moment(k, zone int) (t time.Time, offset int64, ok bool) {
	ms := r.long(k)
	if ms < firstMs || ms > lastMs {
		return t, 0, false
	}
	if r.count() > zone {
		z, known := Zone(string(r.text(zone)))
		if !known {
			return t, 0, false
		}
		offset = z.offset(ms)
	}
	return time.UnixMilli(ms + offset).UTC(), offset, true
}

func dateTrunc(r *rowArgs) bool {
	t, _, ok := r.moment(1, 2)
	if !ok {
		return false
	}
	y, m, d := t.Date()
	local := t.UnixMilli()
	day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).UnixMilli()
	switch unit(r.text(0)) {
	case "millisecond":
	case "second":
		local -= (local - day) % 1000
	case "minute":
		local -= (local - day) % 60_000
	case "hour":
		local -= (local - day) % 3_600_000
	case "day":
		local = day
	case "week":
		local = day - int64(t.Weekday()+6)%7*msDay
	case "month":
		local = time.Date(y, m, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	case "quarter":
		local = time.Date(y, (m-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	case "year":
		local = time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	default:
		return false
	}
	r.n = local
	if r.count() == 3 {
		z, _ := Zone(string(r.text(2)))
		r.n = z.instant(local)
	}
	return true
}

func extract(r *rowArgs) bool {
	t, _, ok := r.moment(1, 2)
	if !ok {
		return false
	}
	switch unit(r.text(0)) {
	case "year":
		r.f = float64(t.Year())
	case "quarter":
		r.f = float64((t.Month()-1)/3 + 1)
	case "month":
		r.f = float64(t.Month())
	case "week":
		_, w := t.ISOWeek()
		r.f = float64(w)
	case "day":
		r.f = float64(t.Day())
	case "dow":
		r.f = float64(t.Weekday())
	case "isodow":
		r.f = float64((t.Weekday()+6)%7 + 1)
	case "doy":
		r.f = float64(t.YearDay())
	case "hour":
		r.f = float64(t.Hour())
	case "minute":
		r.f = float64(t.Minute())
	case "second":
		r.f = float64(t.Second()*1000+t.Nanosecond()/1e6) / 1000
	case "millisecond":
		r.f = float64(t.Second()*1000 + t.Nanosecond()/1e6)
	case "epoch":
		r.f = float64(r.long(1)) / 1000
	default:
		return false
	}
	return true
}

// unit is the singular of a unit in lower case.
func unit(name []byte) string {
	return strings.TrimSuffix(strings.ToLower(string(name)), "s")
}

func addInterval(r *rowArgs, sign int64) bool {
	t, _, ok := r.moment(0, 2)
	if !ok {
		return false
	}
	months, ms, ok := ParseInterval(string(r.text(1)))
	if !ok {
		return false
	}
	if months != 0 {
		y, m, d := t.Date()
		at := int64(y)*12 + int64(m-1) + sign*months
		if at < 12 || at >= 10_000*12 {
			return false
		}
		year, month := int(at/12), time.Month(at%12+1)
		d = min(d, time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day())
		t = time.Date(year, month, d, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	}
	r.n = t.UnixMilli() + sign*ms
	return r.n >= firstMs && r.n <= lastMs
}

var unitMs = map[string]int64{"millisecond": 1, "second": 1000, "sec": 1000, "minute": 60_000, "min": 60_000, "hour": 3_600_000, "day": msDay, "week": 7 * msDay}

// maxInterval bounds every number of an interval, far beyond the calendar.
const maxInterval = 400_000_000_000_000

// ParseInterval reads a list of numbers with units, such as "1 month 2 days", or hours, minutes and seconds as
// "02:30:00". Months and years are counted apart, because their length depends on the calendar.
func ParseInterval(s string) (months, ms int64, ok bool) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return 0, 0, false
	}
	for i := 0; i < len(words); {
		if strings.Contains(words[i], ":") {
			n, good := clock(words[i])
			if !good {
				return 0, 0, false
			}
			ms += n
			i++
			continue
		}
		n, err := strconv.ParseFloat(words[i], 64)
		if err != nil || i+1 == len(words) || n < -maxInterval || n > maxInterval || n != n {
			return 0, 0, false
		}
		name := unit([]byte(words[i+1]))
		i += 2
		whole := int64(n)
		switch each, known := unitMs[name]; {
		case known:
			if n*float64(each) > maxInterval || n*float64(each) < -maxInterval {
				return 0, 0, false
			}
			ms += int64(n * float64(each))
		case (name == "month" || name == "year") && float64(whole) == n:
			if name == "year" {
				whole *= 12
			}
			months += whole
		default:
			return 0, 0, false
		}
		if months < -120_000 || months > 120_000 || ms < -maxInterval || ms > maxInterval {
			return 0, 0, false
		}
	}
	return months, ms, true
}

// clock reads [-]HH:MM[:SS[.mmm]].
func clock(s string) (ms int64, ok bool) {
	s, negative := strings.CutPrefix(s, "-")
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return 0, false
	}
	each := []float64{3_600_000, 60_000, 1000}
	sum := 0.0
	for i, p := range parts {
		n, err := strconv.ParseFloat(p, 64)
		if err != nil || n < 0 || n > 1e6 {
			return 0, false
		}
		sum += n * each[i]
	}
	if negative {
		sum = -sum
	}
	return int64(sum), true
}

// charFields are the fields of TO_CHAR, longer ones before their prefixes.
var charFields = []struct {
	name string
	text func(t time.Time, offset int64) string
}{
	{"YYYY", layout("2006")}, {"YY", layout("06")}, {"Month", layout("January")}, {"Mon", layout("Jan")}, {"MONTH", upper("January")}, {"MON", upper("Jan")},
	{"MM", layout("01")}, {"MI", layout("04")}, {"MS", func(t time.Time, _ int64) string { return t.Format(".000")[1:] }},
	{"DDD", layout("002")}, {"DD", layout("02")}, {"Day", layout("Monday")}, {"Dy", layout("Mon")}, {"DAY", upper("Monday")}, {"DY", upper("Mon")},
	{"HH24", layout("15")}, {"HH12", layout("03")}, {"HH", layout("03")}, {"SS", layout("05")}, {"AM", layout("PM")}, {"PM", layout("PM")}, {"am", layout("pm")}, {"pm", layout("pm")},
	{"Q", func(t time.Time, _ int64) string { return strconv.Itoa(int(t.Month()-1)/3 + 1) }},
	{"TZ", func(_ time.Time, offset int64) string { return offsetText(offset) }},
}

func layout(l string) func(time.Time, int64) string {
	return func(t time.Time, _ int64) string { return t.Format(l) }
}

func upper(l string) func(time.Time, int64) string {
	return func(t time.Time, _ int64) string { return strings.ToUpper(t.Format(l)) }
}

func toChar(r *rowArgs) bool {
	t, offset, ok := r.moment(0, 2)
	if !ok {
		return false
	}
	pattern := string(r.text(1))
next:
	for len(pattern) > 0 {
		if pattern[0] == '"' {
			quoted, rest, _ := strings.Cut(pattern[1:], "\"")
			r.out = append(r.out, quoted...)
			pattern = rest
			continue
		}
		for _, f := range charFields {
			if rest, is := strings.CutPrefix(pattern, f.name); is {
				r.out = append(r.out, f.text(t, offset)...)
				pattern = rest
				continue next
			}
		}
		r.out = append(r.out, pattern[0])
		pattern = pattern[1:]
	}
	return true
}

// IsInterval reports whether an expression is the length of an INTERVAL literal, and returns its text.
func IsInterval(e Expr) (Expr, bool) {
	c, ok := e.(*Call)
	if !ok || c.Fn.Name != "INTERVAL" || c.K != types.Long {
		return nil, false
	}
	return c.Args[0], true
}
