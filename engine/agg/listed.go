package agg

import (
	"bytes"
	"math"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// maxListed bounds the text of STRING_AGG and ARRAY_AGG in bytes; a longer one is NULL and counted as an overflow.
const maxListed = 1 << 20

// readBag appends the result of a call over the records of one group.
func (r *readout) readBag(p *bagPart, st []uint64, col *resultColumn, out *Results) (overflow bool) {
	switch r.call.Agg.what {
	case whatPercentile:
		readPercentile(p.read(st, bytes.Compare), r.call.Fraction, col)
	case whatStrings, whatArray:
		return r.readListed(p, st, col, out)
	default:
		r.readArg(p.read(st, bytes.Compare), col, out)
	}
	return false
}

// readPercentile interpolates linearly between the two records around the place.
func readPercentile(ents []bagEntry, fraction float64, col *resultColumn) {
	n := int64(0)
	for _, e := range ents {
		n += e.w
	}
	if n <= 0 {
		col.null()
		return
	}
	place := fraction * float64(n-1)
	lower := int64(math.Floor(place))
	lo := numberAt(ents, lower)
	if part := place - float64(lower); part > 0 {
		if hi := numberAt(ents, lower+1); hi != lo {
			lo += part * (hi - lo)
		}
	}
	col.double(lo)
}

// numberAt is the number at a place of the sorted list, where a record stands as often as its weight says.
func numberAt(ents []bagEntry, place int64) float64 {
	for _, e := range ents {
		if place < e.w {
			return cell(e.rec, types.Double).Float()
		}
		place -= e.w
	}
	return cell(ents[len(ents)-1].rec, types.Double).Float()
}

// readListed puts the values one after the other.
func (r *readout) readListed(p *bagPart, st []uint64, col *resultColumn, out *Results) (overflow bool) {
	ents := p.read(st, r.compare)
	if len(ents) == 0 {
		col.null()
		return false
	}
	array := r.call.Agg.what == whatArray
	separator := r.call.Separator
	text := p.text[:0]
	if array {
		separator = ","
		text = append(text, '[')
	}
	kind := r.call.Arg.Kind()
	count := int64(0)
	var last []byte
	for _, e := range ents {
		value := e.rec[:len(e.rec)-len(zset.SkipCells(e.rec, 1))]
		times := e.w
		if r.call.Distinct {
			// Equal values are neighbours: the only order there can be is that of the value.
			if last != nil && bytes.Equal(last, value) {
				continue
			}
			last, times = value, 1
		}
		v := cell(e.rec, kind)
		for range times {
			if count > 0 {
				text = append(text, separator...)
			}
			if array {
				text = appendElement(text, v)
			} else {
				text = append(text, v.Text()...)
			}
			if count++; count > maxListed || len(text) > maxListed {
				p.text = text
				col.null()
				return true
			}
		}
	}
	if array {
		text = append(text, ']')
	}
	p.text = text
	col.text(text, out)
	return false
}

// appendElement appends a value as JSON.
func appendElement(dst []byte, v types.Value) []byte {
	if v.IsNull() {
		return append(dst, "null"...)
	}
	switch v.Kind() {
	case types.Double:
		if math.IsInf(v.Float(), 0) || math.IsNaN(v.Float()) {
			return append(dst, "null"...)
		}
		return types.AppendDouble(dst, v.Float())
	case types.Bool:
		return types.AppendBool(dst, v.Bool())
	case types.String:
		return types.AppendJSONString(dst, v.Text())
	case types.Json:
		return append(dst, v.Text()...)
	default:
		return types.AppendLong(dst, v.Int())
	}
}

// readArg gives the value of the record with the best second cell. Records are (by, value), sorted: the first of all
// is the minimum, the first of those with the last by is the maximum.
func (r *readout) readArg(ents []bagEntry, col *resultColumn, out *Results) {
	if len(ents) == 0 {
		col.null()
		return
	}
	by := func(rec []byte) []byte { return rec[:len(rec)-len(zset.SkipCells(rec, 1))] }
	at := 0
	if r.call.Agg.what == whatArgMax {
		at = len(ents) - 1
		for at > 0 && bytes.Equal(by(ents[at-1].rec), by(ents[at].rec)) {
			at--
		}
	}
	v := cell(zset.SkipCells(ents[at].rec, 1), r.call.K)
	switch {
	case v.Kind().IsText():
		col.text([]byte(v.Text()), out)
	case v.Kind() == types.Double:
		col.double(v.Float())
	default:
		col.word(uint64(v.Int()))
	}
}
