package expr

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ZoneInfo is a time zone: an offset from UTC and a rule for daylight saving time. The rules are compiled in, because
// the engine reads no files; they are those in force since 1996 (Europe) and 1987 and 2007 (North America).
type ZoneInfo struct {
	std  int64 // milliseconds east of UTC
	rule dstRule
}

type dstRule uint8

const (
	noDST   dstRule = iota
	europe          // last Sunday of March to last Sunday of October, at 01:00 UTC
	america         // second Sunday of March to first Sunday of November, at 02:00 local time
)

const hourMs = 3_600_000

// zones are the zones with a name: hours from UTC and the rule.
var zones = map[string]ZoneInfo{}

func init() {
	add := func(hours float64, rule dstRule, names ...string) {
		for _, n := range names {
			zones[strings.ToLower(n)] = ZoneInfo{std: int64(hours * hourMs), rule: rule}
		}
	}
	add(0, noDST, "UTC", "GMT", "Z", "Etc/UTC", "Africa/Abidjan", "Africa/Accra", "Atlantic/Reykjavik")
	add(0, europe, "Europe/London", "Europe/Dublin", "Europe/Lisbon")
	add(1, europe, "CET", "Europe/Amsterdam", "Europe/Berlin", "Europe/Brussels", "Europe/Budapest", "Europe/Copenhagen", "Europe/Luxembourg",
		"Europe/Madrid", "Europe/Oslo", "Europe/Paris", "Europe/Prague", "Europe/Rome", "Europe/Stockholm", "Europe/Vienna", "Europe/Warsaw", "Europe/Zurich")
	add(1, noDST, "Africa/Lagos")
	add(2, europe, "EET", "Europe/Athens", "Europe/Bucharest", "Europe/Helsinki", "Europe/Riga", "Europe/Sofia", "Europe/Tallinn", "Europe/Vilnius")
	add(2, noDST, "Africa/Johannesburg")
	add(3, noDST, "Africa/Nairobi", "Asia/Riyadh", "Asia/Qatar", "Asia/Kuwait")
	add(4, noDST, "Asia/Dubai")
	add(5, noDST, "Asia/Karachi")
	add(5.5, noDST, "Asia/Kolkata", "Asia/Calcutta", "IST")
	add(5.75, noDST, "Asia/Kathmandu")
	add(6, noDST, "Asia/Dhaka")
	add(7, noDST, "Asia/Bangkok", "Asia/Jakarta", "Asia/Ho_Chi_Minh")
	add(8, noDST, "Asia/Hong_Kong", "Asia/Manila", "Asia/Shanghai", "Asia/Singapore", "Asia/Taipei", "Australia/Perth")
	add(9, noDST, "Asia/Seoul", "Asia/Tokyo", "JST")
	add(10, noDST, "Australia/Brisbane")
	add(-4, america, "America/Halifax")
	add(-4, noDST, "America/Puerto_Rico")
	add(-5, america, "America/New_York", "America/Toronto", "US/Eastern", "EST5EDT")
	add(-5, noDST, "America/Bogota", "America/Lima", "America/Panama", "EST")
	add(-6, america, "America/Chicago", "US/Central", "CST6CDT")
	add(-6, noDST, "America/Costa_Rica")
	add(-7, america, "America/Denver", "US/Mountain", "MST7MDT")
	add(-7, noDST, "America/Phoenix", "MST")
	add(-8, america, "America/Los_Angeles", "America/Vancouver", "US/Pacific", "PST8PDT")
	add(-9, america, "America/Anchorage")
	add(-10, noDST, "Pacific/Honolulu", "HST")
}

// Zone finds a zone by its name, ignoring case, or by a fixed offset such as "+02:00" or "-0530".
func Zone(name string) (ZoneInfo, bool) {
	if z, ok := zones[strings.ToLower(name)]; ok {
		return z, true
	}
	if len(name) < 2 || name[0] != '+' && name[0] != '-' {
		return ZoneInfo{}, false
	}
	digits := strings.Replace(name[1:], ":", "", 1)
	if len(digits) <= 2 {
		digits += "00"
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || len(digits) > 4 || n/100 > 15 || n%100 > 59 {
		return ZoneInfo{}, false
	}
	ms := int64(n/100)*hourMs + int64(n%100)*60_000
	if name[0] == '-' {
		ms = -ms
	}
	return ZoneInfo{std: ms}, true
}

// offset is what is added to an instant to get the local time.
func (z ZoneInfo) offset(ms int64) int64 {
	if z.rule == noDST {
		return z.std
	}
	year := time.UnixMilli(ms + z.std).UTC().Year()
	from, to := z.summer(year)
	if ms >= from && ms < to {
		return z.std + hourMs
	}
	return z.std
}

// instant is the instant of a local time. Of a time that there is twice it is the earlier one; one that is skipped is
// read with the offset before the change.
func (z ZoneInfo) instant(local int64) int64 {
	if early := local - z.std - hourMs; z.rule != noDST && z.offset(early) == z.std+hourMs {
		return early
	}
	return local - z.std
}

// summer is the daylight saving time of a year, as instants.
func (z ZoneInfo) summer(year int) (from, to int64) {
	if z.rule == europe {
		return sunday(year, time.March, -1) + hourMs, sunday(year, time.October, -1) + hourMs
	}
	if year < 2007 {
		return sunday(year, time.April, 1) + 2*hourMs - z.std, sunday(year, time.October, -1) + hourMs - z.std
	}
	return sunday(year, time.March, 2) + 2*hourMs - z.std, sunday(year, time.November, 1) + hourMs - z.std
}

// sunday is midnight of the n-th Sunday of a month, of the last one with -1.
func sunday(year int, month time.Month, n int) int64 {
	if n < 0 {
		last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC)
		return last.AddDate(0, 0, -int(last.Weekday())).UnixMilli()
	}
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, (7-int(first.Weekday()))%7+7*(n-1)).UnixMilli()
}

func offsetText(ms int64) string {
	sign := '+'
	if ms < 0 {
		sign, ms = '-', -ms
	}
	return fmt.Sprintf("%c%02d:%02d", sign, ms/hourMs, ms/60_000%60)
}
