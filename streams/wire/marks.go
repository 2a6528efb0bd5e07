package wire

// Marks are one bit a row, least significant first.

func appendMarks(dst []byte, marks []bool) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, (len(marks)+7)/8)...)
	for i, m := range marks {
		if m {
			dst[at+i>>3] |= 1 << (i & 7)
		}
	}
	return dst
}

func (r *reader) marks(n int) []bool {
	p := r.take(uint64(n+7) / 8)
	if r.fail != "" {
		return nil
	}
	out := make([]bool, n)
	for i := range out {
		out[i] = p[i>>3]>>(i&7)&1 != 0
	}
	return out
}
