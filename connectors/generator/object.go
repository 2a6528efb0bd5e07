package generator

import (
	"math"
	"strconv"
)

// object appends the members of one JSON object. Keys and texts are the profiles' own and need no escapes; generic
// fields bring their names escaped.
type object struct {
	b    []byte
	more bool
}

func (o *object) key(k string) {
	if o.more {
		o.b = append(o.b, ',')
	}
	o.more = true
	o.b = append(o.b, '"')
	o.b = append(o.b, k...)
	o.b = append(o.b, '"', ':')
}

func (o *object) text(k, v string) {
	o.key(k)
	o.b = append(o.b, '"')
	o.b = append(o.b, v...)
	o.b = append(o.b, '"')
}

func (o *object) long(k string, v int64) {
	o.key(k)
	o.b = strconv.AppendInt(o.b, v, 10)
}

// double writes a number rounded to a count of decimals.
func (o *object) double(k string, v float64, decimals int) {
	o.key(k)
	o.b = appendDouble(o.b, v, decimals)
}

func appendDouble(dst []byte, v float64, decimals int) []byte {
	return strconv.AppendFloat(dst, round(v, decimals), 'f', -1, 64)
}

func round(v float64, decimals int) float64 {
	p := math.Pow10(decimals)
	return math.Round(v*p) / p
}
