package wire

import (
	"encoding/binary"
	"math"

	"github.com/streamsforge/streamsforge/engine/zset"
)

// Texts begin with a mark. Plain (0): the lengths as integers, then the bytes of all. Dictionary (1): the number
// of entries (uvarint, at least 1), the lengths of the entries as integers, their bytes, and a code a row as
// integers, each below the number of entries.
const (
	textsPlain = 0
	textsDict  = 1
)

// maxTextBytes is what the 32-bit offsets of a column can address.
const maxTextBytes = math.MaxUint32

func appendTexts(dst []byte, col *zset.Column, n, minWidth int) []byte {
	dst = append(dst, textsPlain)
	dst = appendLengths(dst, col.Offs[:n+1], minWidth)
	return append(dst, col.Bytes[col.Offs[0]:col.Offs[n]]...)
}

func appendLengths(dst []byte, offs []uint32, minWidth int) []byte {
	lo, hi := uint32(math.MaxUint32), uint32(0)
	at := offs[0]
	for _, to := range offs[1:] {
		lo, hi = min(lo, to-at), max(hi, to-at)
		at = to
	}
	width := max(minWidth, widthOf(uint64(hi-lo)))
	dst, out := appendFrame(dst, width, int64(lo), len(offs)-1)
	if width == 0 {
		return dst
	}
	at = offs[0]
	for i, to := range offs[1:] {
		x := to - at - lo
		at = to
		switch width {
		case 1:
			out[i] = byte(x)
		case 2:
			binary.LittleEndian.PutUint16(out[2*i:], uint16(x))
		default:
			binary.LittleEndian.PutUint32(out[4*i:], x)
		}
	}
	return dst
}

// stackCodes is the size of a dictionary and of a batch whose scratch memory needs no allocation.
const stackCodes = 1024

// appendCoded writes the entries that are used, in order of first use, so that a block stands for itself.
func appendCoded(dst []byte, col *zset.Column, n, minWidth int) []byte {
	var remapBuf, codesBuf, usedBuf [stackCodes]uint32
	remap, codes, used := remapBuf[:], codesBuf[:], usedBuf[:0]
	if col.Dict.Len() > len(remap) {
		remap = make([]uint32, col.Dict.Len()) // new code + 1
	}
	if n > len(codes) {
		codes = make([]uint32, n)
	}
	codes = codes[:n]
	for i, code := range col.Codes[:n] {
		if remap[code] == 0 {
			used = append(used, code)
			remap[code] = uint32(len(used))
		}
		codes[i] = remap[code] - 1
	}
	dst = binary.AppendUvarint(append(dst, textsDict), uint64(len(used)))
	dst = appendEntries(dst, col.Dict, used)
	return appendInts(dst, codes, minWidth)
}

func appendEntries(dst []byte, d *zset.Dict, used []uint32) []byte {
	var lensBuf [stackCodes]uint32
	lens := lensBuf[:0]
	for _, code := range used {
		lens = append(lens, uint32(len(d.At(code))))
	}
	dst = appendInts(dst, lens, 0)
	for _, code := range used {
		dst = append(dst, d.At(code)...)
	}
	return dst
}

func (r *reader) texts(col *zset.Column, n int) {
	switch r.byte() {
	case textsPlain:
		col.Offs, col.Bytes = r.plain(n)
	case textsDict:
		entries := r.uvarint()
		if entries == 0 || entries > uint64(n) {
			r.bad("a dictionary has no entries, or more than rows")
			return
		}
		offs, text := r.plain(int(entries))
		f := r.frame(n)
		if r.fail != "" {
			return
		}
		if f.lo < 0 || f.lo >= int64(entries) || f.width > 4 {
			r.bad("a code is beyond its dictionary")
			return
		}
		col.Dict = &zset.Dict{Offs: offs, Bytes: text}
		col.Codes = make([]uint32, n)
		unpack(col.Codes, f)
		most := uint32(0)
		for _, c := range col.Codes {
			most = max(most, c)
		}
		if uint64(most) >= entries {
			r.bad("a code is beyond its dictionary")
		}
	default:
		r.bad("texts have an unknown encoding")
	}
}

// plain reads lengths and bytes of n texts. The bytes stay where they are.
func (r *reader) plain(n int) (offs []uint32, text []byte) {
	f := r.frame(n)
	if r.fail != "" {
		return nil, nil
	}
	if f.lo < 0 || f.lo > maxTextBytes || f.width > 4 {
		r.bad("texts are longer than a column can be")
		return nil, nil
	}
	offs = make([]uint32, n+1)
	total := uint64(0)
	switch f.width {
	case 0:
		total = uint64(f.lo) * uint64(n)
		if total <= maxTextBytes {
			for i := range offs {
				offs[i] = uint32(f.lo) * uint32(i)
			}
		}
	case 1:
		for i, x := range f.p[:n] {
			total += uint64(f.lo) + uint64(x)
			offs[i+1] = uint32(total)
		}
	case 2:
		for i := range n {
			total += uint64(f.lo) + uint64(binary.LittleEndian.Uint16(f.p[2*i:]))
			offs[i+1] = uint32(total)
		}
	default:
		for i := range n {
			total += uint64(f.lo) + uint64(binary.LittleEndian.Uint32(f.p[4*i:]))
			offs[i+1] = uint32(total)
		}
	}
	// The bytes are there, so that the sum is below their number and no offset has wrapped.
	return offs, r.take(total)
}
