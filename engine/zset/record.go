package zset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/streamsforge/streamsforge/engine/types"
)

// A record is the canonical row-major form of a list of cells: cell after cell, each a tag byte and its value.
//
//	NULL          01
//	FALSE, TRUE   02, 03
//	Long          14 for 0; 14+n and the n low bytes, big endian, for a positive number; 14-n and the n low bytes
//	              of the inverted magnitude for a negative one. A Timestamp is written like the same Long.
//	Double        20 and 8 bytes, big endian, with the sign bit flipped (positive) or all bits inverted (negative)
//	String, Json  28, 29, the bytes with 00 written as 00 FF, and 00
//
// Two properties follow. Equal cells have equal bytes and different ones do not (one NaN, one zero, NULL is not
// empty text, Long 1 is not Double 1.0, text is not Json), so that equality of rows is one comparison of bytes.
// And bytes.Compare orders records as their cells order, column by column, NULL first: numbers by value, text by
// its bytes. A record ends by itself, and so does each of its cells, as long as what follows is another cell: the
// end of a text is told from an escape by the byte after it.
const (
	tagNull    = 0x01
	tagFalse   = 0x02
	tagTrue    = 0x03
	tagZero    = 0x14
	tagDouble  = 0x20
	tagString  = 0x28
	tagJson    = 0x29
	textEnd    = 0x00
	textEscape = 0xFF
)

// ErrRecord is returned for bytes that are not a canonical record.
var ErrRecord = errors.New("not a canonical record")

// AppendRecord appends the canonical record of the chosen columns of a row to dst; cols nil means all columns.
func AppendRecord(dst []byte, b *Batch, row int, cols []int) []byte {
	if cols == nil {
		for c := range b.Cols {
			dst = AppendCell(dst, &b.Cols[c], row)
		}
		return dst
	}
	for _, c := range cols {
		dst = AppendCell(dst, &b.Cols[c], row)
	}
	return dst
}

// AppendCell appends one cell of a record.
func AppendCell(dst []byte, c *Column, row int) []byte {
	if c.IsNull(row) {
		return append(dst, tagNull)
	}
	switch c.Kind {
	case types.Long, types.Timestamp:
		return AppendLongCell(dst, c.I64[row])
	case types.Double:
		return AppendDoubleCell(dst, c.F64[row])
	case types.Bool:
		if c.I64[row] != 0 {
			return append(dst, tagTrue)
		}
		return append(dst, tagFalse)
	case types.Json:
		return appendText(append(dst, tagJson), c.Text(row))
	default:
		return appendText(append(dst, tagString), c.Text(row))
	}
}

// AppendComparableCell appends a cell so that values that SQL calls equal have equal bytes: a Double that is a
// whole number in the range of Long is written as that Long. COUNT(DISTINCT x) and the keys of interval joins use
// it; the typed keys of tables do not.
func AppendComparableCell(dst []byte, c *Column, row int) []byte {
	if c.Kind == types.Double && !c.IsNull(row) {
		f := c.F64[row]
		if f >= -1<<63 && f < 1<<63 && f == math.Trunc(f) {
			return AppendLongCell(dst, int64(f))
		}
	}
	return AppendCell(dst, c, row)
}

// AppendValue appends one boxed value as a cell.
func AppendValue(dst []byte, v types.Value) []byte {
	if v.IsNull() {
		return append(dst, tagNull)
	}
	switch v.Kind() {
	case types.Long, types.Timestamp:
		return AppendLongCell(dst, v.Int())
	case types.Double:
		return AppendDoubleCell(dst, v.Float())
	case types.Bool:
		return append(dst, tagFalse+byte(v.Int()))
	case types.Json:
		return appendText(append(dst, tagJson), []byte(v.Text()))
	default:
		return appendText(append(dst, tagString), []byte(v.Text()))
	}
}

// AppendNullCell appends a NULL.
func AppendNullCell(dst []byte) []byte { return append(dst, tagNull) }

// AppendLongCell appends a Long or Timestamp.
func AppendLongCell(dst []byte, v int64) []byte {
	var m uint64
	var n int
	tag := byte(tagZero)
	if v >= 0 {
		m = uint64(v)
		n = (bits.Len64(m) + 7) >> 3
		tag += byte(n)
	} else {
		m = -uint64(v)
		n = (bits.Len64(m) + 7) >> 3
		m = ^m
		tag -= byte(n)
	}
	// Eight bytes are written and the unused ones cut off: no loop, no branch on n.
	dst = append(dst, tag)
	at := len(dst)
	dst = binary.BigEndian.AppendUint64(dst, m<<(64-8*uint(n)))
	return dst[:at+n]
}

// AppendDoubleCell appends a Double.
func AppendDoubleCell(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, tagDouble), orderedBits(f))
}

// AppendBoolCell appends a Bool.
func AppendBoolCell(dst []byte, v bool) []byte {
	if v {
		return append(dst, tagTrue)
	}
	return append(dst, tagFalse)
}

// AppendStringCell appends a String.
func AppendStringCell(dst, text []byte) []byte { return appendText(append(dst, tagString), text) }

// AppendJsonCell appends a Json text.
func AppendJsonCell(dst, text []byte) []byte { return appendText(append(dst, tagJson), text) }

func appendText(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, 0)
		if i < 0 {
			return append(append(dst, text...), textEnd)
		}
		dst = append(append(dst, text[:i]...), textEnd, textEscape)
		text = text[i+1:]
	}
}

// orderedBits maps a double to a word whose unsigned order is the order of the numbers; NaN is the largest.
func orderedBits(f float64) uint64 {
	u := math.Float64bits(types.CanonicalDouble(f))
	if u>>63 != 0 {
		return ^u
	}
	return u | 1<<63
}

func fromOrderedBits(u uint64) float64 {
	if u>>63 != 0 {
		return math.Float64frombits(u &^ (1 << 63))
	}
	return math.Float64frombits(^u)
}

// Cell is one decoded cell of a record.
type Cell struct {
	// Kind is Unknown for a NULL; Long for a Timestamp too.
	Kind types.Kind
	I    int64 // Long, Timestamp, Bool (0 or 1)
	F    float64
	// Text points into the record unless the text holds a NUL byte.
	Text []byte
}

// ReadCell decodes the first cell of a record and returns the rest of the record.
func ReadCell(rec []byte) (c Cell, rest []byte, err error) {
	if len(rec) == 0 {
		return Cell{}, nil, fmt.Errorf("%w: it ends before a cell", ErrRecord)
	}
	tag := rec[0]
	rec = rec[1:]
	switch tag {
	case tagNull:
		return Cell{Kind: types.Unknown}, rec, nil
	case tagFalse, tagTrue:
		return Cell{Kind: types.Bool, I: int64(tag - tagFalse)}, rec, nil
	case tagDouble:
		if len(rec) < 8 {
			return Cell{}, nil, fmt.Errorf("%w: a Double is cut off", ErrRecord)
		}
		return Cell{Kind: types.Double, F: fromOrderedBits(binary.BigEndian.Uint64(rec))}, rec[8:], nil
	case tagString, tagJson:
		k := types.String
		if tag == tagJson {
			k = types.Json
		}
		text, rest, ok := readText(rec)
		if !ok {
			return Cell{}, nil, fmt.Errorf("%w: a text has no end", ErrRecord)
		}
		return Cell{Kind: k, Text: text}, rest, nil
	}
	n := int(tag) - tagZero
	neg := n < 0
	if neg {
		n = -n
	}
	if n > 8 {
		return Cell{}, nil, fmt.Errorf("%w: unknown tag %#x", ErrRecord, tag)
	}
	if len(rec) < n {
		return Cell{}, nil, fmt.Errorf("%w: a Long is cut off", ErrRecord)
	}
	return Cell{Kind: types.Long, I: readLong(rec, n, neg)}, rec[n:], nil
}

func readLong(rec []byte, n int, neg bool) int64 {
	var m uint64
	if len(rec) >= 8 && n > 0 {
		m = binary.BigEndian.Uint64(rec) >> (64 - 8*uint(n))
	} else {
		for _, x := range rec[:n] {
			m = m<<8 | uint64(x)
		}
	}
	if neg {
		// The upper bytes of the inverted magnitude are ones.
		return -int64(^(m | ^uint64(0)<<(8*uint(n))))
	}
	return int64(m)
}

// readText returns the text up to its end mark. Only a text with a NUL byte is copied.
func readText(rec []byte) (text, rest []byte, ok bool) {
	i := bytes.IndexByte(rec, textEnd)
	if i < 0 {
		return nil, nil, false
	}
	if i+1 >= len(rec) || rec[i+1] != textEscape {
		return rec[:i:i], rec[i+1:], true
	}
	text = append([]byte(nil), rec[:i]...)
	for {
		rec = rec[i+1:]
		if len(rec) == 0 || rec[0] != textEscape {
			return text, rec, true
		}
		text = append(text, 0)
		rec = rec[1:]
		if i = bytes.IndexByte(rec, textEnd); i < 0 {
			return nil, nil, false
		}
		text = append(text, rec[:i]...)
	}
}

// SkipCells returns the record without its first n cells; nil when it has fewer.
func SkipCells(rec []byte, n int) []byte {
	for ; n > 0; n-- {
		if len(rec) == 0 {
			return nil
		}
		tag := rec[0]
		rec = rec[1:]
		size := 0
		switch tag {
		case tagNull, tagFalse, tagTrue:
		case tagDouble:
			size = 8
		case tagString, tagJson:
			for {
				i := bytes.IndexByte(rec, textEnd)
				if i < 0 {
					return nil
				}
				rec = rec[i+1:]
				if len(rec) == 0 || rec[0] != textEscape {
					break
				}
			}
		default:
			if size = int(tag) - tagZero; size < 0 {
				size = -size
			}
		}
		if size > len(rec) {
			return nil
		}
		rec = rec[size:]
	}
	return rec
}

// RecordValues boxes the cells of a record; kinds gives the kind of each column (a NULL and a Timestamp do not
// carry theirs).
func RecordValues(rec []byte, kinds []types.Kind) ([]types.Value, error) {
	out := make([]types.Value, 0, len(kinds))
	for _, k := range kinds {
		c, rest, err := ReadCell(rec)
		if err != nil {
			return nil, err
		}
		v := types.Null(k)
		if c.Kind != types.Unknown {
			if !cellFits(c.Kind, k) {
				return nil, fmt.Errorf("%w: a %v where a %v belongs", ErrRecord, c.Kind, k)
			}
			switch k {
			case types.String:
				v = types.StringOf(string(c.Text))
			case types.Json:
				v = types.JsonOf(string(c.Text))
			case types.Double:
				v = types.DoubleOf(c.F)
			case types.Bool:
				v = types.BoolOf(c.I != 0)
			case types.Timestamp:
				v = types.TimestampOf(c.I)
			default:
				v = types.LongOf(c.I)
			}
		}
		out, rec = append(out, v), rest
	}
	if len(rec) != 0 {
		return nil, fmt.Errorf("%w: %d bytes after the last of %d cells", ErrRecord, len(rec), len(kinds))
	}
	return out, nil
}

// cellFits reports whether a cell of kind have can stand in a column of kind want.
func cellFits(have, want types.Kind) bool {
	return have == want || have == types.Long && want == types.Timestamp
}
