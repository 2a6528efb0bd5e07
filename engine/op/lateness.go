package op

import (
	"encoding/binary"
	"math"
)

// Lateness counts late rows and how late they were: how far behind the watermark that the rows before them had
// reached. Rows without a time count as 0 ms late.
type Lateness struct {
	Rows    int64
	TotalMs int64
	MaxMs   int64
}

func (l *Lateness) add(by int64) {
	l.Rows++
	if l.TotalMs > math.MaxInt64-by {
		l.TotalMs = math.MaxInt64
	} else {
		l.TotalMs += by
	}
	l.MaxMs = max(l.MaxMs, by)
}

// Add puts the books of another operator in.
func (l *Lateness) Add(o Lateness) {
	l.Rows += o.Rows
	if l.TotalMs > math.MaxInt64-o.TotalMs {
		l.TotalMs = math.MaxInt64
	} else {
		l.TotalMs += o.TotalMs
	}
	l.MaxMs = max(l.MaxMs, o.MaxMs)
}

func (l *Lateness) append(dst []byte) []byte {
	dst = binary.AppendVarint(dst, l.Rows)
	dst = binary.AppendVarint(dst, l.TotalMs)
	return binary.AppendVarint(dst, l.MaxMs)
}

func (l *Lateness) restore(r *snapReader) {
	l.Rows, l.TotalMs, l.MaxMs = r.varint(), r.varint(), r.varint()
}

// lateBy is how far a time is behind a watermark; late is false when it is not.
func lateBy(ts, watermark int64) (by int64, late bool) {
	if ts >= watermark {
		return 0, false
	}
	if by = watermark - ts; by < 0 { // further than a Long can say
		by = math.MaxInt64
	}
	return by, true
}
