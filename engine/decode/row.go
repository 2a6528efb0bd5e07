package decode

import (
	"github.com/streamsforge/streamsforge/engine/types"
)

// isRow marks in Failure.Index, inside of the package, a row that is valid JSON and yet not a row to take: no
// object, an undeclared member, a value that does not fit. Its end is known.
const isRow = -1

// row decodes the object at i and adds it to the open batch. After a failure nothing was added, and end is good
// only when the failure's index is isRow.
func (d *Decoder) row(b []byte, i int) (end int, f *Failure) {
	coerced := d.coerced
	end, set, ok := d.fast(b, i)
	if !ok {
		d.b.AbortRow()
		d.coerced = coerced
		if end, set, f = d.slowRow(b, i); f != nil {
			d.b.AbortRow()
			d.coerced = coerced
			return end, f
		}
	}
	if d.failed != "" {
		d.b.AbortRow()
		d.coerced = coerced
		stage := StageCoerce
		if d.refused {
			stage = StageDecode
		}
		return end, &Failure{Index: isRow, Stage: stage, Reason: d.failed}
	}
	d.finishRow(set)
	return end, nil
}

// begin starts a row.
func (d *Decoder) begin() {
	d.stamp++
	d.own, d.mapped, d.retract, d.deleted, d.failed, d.refused = eventTime{}, eventTime{}, cellBool{}, false, "", false
}

// fast decodes the object at i as long as it is usual. It returns the position after the object and how many
// columns were set; ok is false for anything else: damaged text, repeated members, names with escapes. Cells of
// the unfinished row may then be set.
func (d *Decoder) fast(b []byte, i int) (end, set int, ok bool) {
	if i >= len(b) || b[i] != '{' {
		return i, 0, false
	}
	d.begin()
	p := &d.plan
	stamp := d.stamp
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, 0, true
	}
	at := 0 // the member before
	for {
		m := p.members[at].next
		key := p.members[m].key
		if len(key) > 0 && len(b)-i > len(key) && string(b[i:i+len(key)]) == string(key) {
			i += len(key)
		} else {
			var known bool
			if m, i, known = d.memberAt(b, i, at); !known || i >= len(b) {
				return i, set, false
			}
		}
		at = m
		if b[i] <= ' ' {
			if i = skipSpace(b, i); i >= len(b) {
				return i, set, false
			}
		}
		t := &p.targets[p.members[m].target]
		if t.op != opIgnore || t.mapped || t.deletes {
			if t.seen == stamp {
				return i, set, false
			}
			t.seen = stamp
		}
		if t.col >= 0 && t.op < opEventTime {
			set++
		}
		from := i
		done := false
		switch t.op {
		case opString:
			if b[i] != '"' {
				break
			}
			e, plain := plainString(b, i+1)
			if !plain {
				var escaped bool
				if e, escaped, plain = scanString(b, e); !plain {
					return i, set, false
				}
				if escaped {
					break
				}
			}
			d.b.Text(t.col, b[i+1:e])
			i, done = e+1, true
		case opDouble:
			e, mantissa, frac, neg, simple := scanNumber(b, i)
			if e == i || !simple || mantissa >= types.MaxDecimalMantissa {
				break
			}
			v := types.Decimal(mantissa, frac)
			if neg {
				v = -v
			}
			d.b.Double(t.col, v)
			i, done = e, true
		case opLong, opTimestamp:
			e, mantissa, frac, neg, simple := scanNumber(b, i)
			if e == i || !simple || frac != 0 {
				break
			}
			v := int64(mantissa)
			if neg {
				v = -v
			}
			d.b.Long(t.col, v)
			i, done = e, true
		case opEventTime:
			e, mantissa, frac, neg, simple := scanNumber(b, i)
			if e == i || !simple || frac != 0 {
				break
			}
			v := int64(mantissa)
			if neg {
				v = -v
			}
			d.own = eventTime{v, true}
			i, done = e, true
		}
		if !done {
			e, clean, ok := d.scanValue(b, i)
			if !ok {
				return i, set, false
			}
			d.coerce(t, b[i:e], clean)
			i = e
		} else if t.mapped || t.deletes {
			if t.mapped {
				d.mapped = d.readEventTime(b[from:i])
			}
			if t.deletes {
				d.deleted = t.op == opString && isDelete(b[from+1:i-1])
			}
		}
		// A comma or the end.
		if i >= len(b) {
			return i, set, false
		}
		c := b[i]
		if c <= ' ' {
			if i = skipSpace(b, i); i >= len(b) {
				return i, set, false
			}
			c = b[i]
		}
		i++
		if c == '}' {
			return i, set, true
		}
		if c != ',' {
			return i, set, false
		}
		if i < len(b) && b[i] != '"' {
			i = skipSpace(b, i)
		}
	}
}

// memberAt reads a name that was not the predicted one, and its colon, and corrects the prediction. known is false
// when the slow path must look at it.
func (d *Decoder) memberAt(b []byte, i, before int) (m, end int, known bool) {
	if i >= len(b) || b[i] != '"' {
		return 0, i, false
	}
	e, escaped, ok := scanString(b, i+1)
	if !ok || escaped {
		return 0, i, false
	}
	name := b[i+1 : e]
	i = skipSpace(b, e+1)
	if i >= len(b) || b[i] != ':' {
		return 0, i, false
	}
	i++
	p := &d.plan
	m, known = p.known[string(name)]
	if !known {
		if p.unknown(name) {
			return 0, i, false
		}
		if m = p.learn(string(name)); m == 0 {
			return 0, i, true // ignored, and the prediction stays as it is
		}
	}
	p.members[before].next = m
	return m, i, true
}
