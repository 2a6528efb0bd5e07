package types

// TextToTimestamp converts text as TO_TIMESTAMP does: integer text is milliseconds since the epoch, ISO-8601 text
// a point in time.
func TextToTimestamp(text []byte) (ms int64, ok bool) {
	if ms, ok = TextToLong(text); ok {
		return ms, true
	}
	return ParseTime(text)
}

// ParseTime reads ISO-8601 text: a date, or a date and a time with "T" or a space between them, seconds and a
// fraction optional, a zone optional (none is UTC): 2026-11-30, 2026-11-30T20:50Z, 2026-11-30 20:50:05.123+02:00.
// What is finer than a millisecond is cut off.
func ParseTime(text []byte) (ms int64, ok bool) {
	p := timeParser{trimSpace(text), true}
	y := p.digits(4)
	p.skip('-')
	m := p.digits(2)
	p.skip('-')
	d := p.digits(2)
	if !p.ok || y < 1 || m < 1 || m > 12 || d < 1 || d > daysIn(y, m) {
		return 0, false
	}
	ms = daysFromCivil(y, m, d) * msPerDay
	if len(p.s) == 0 {
		return ms, true
	}
	if p.s[0]|0x20 != 't' && p.s[0] != ' ' {
		return 0, false
	}
	p.s = p.s[1:]
	h := p.digits(2)
	p.skip(':')
	min := p.digits(2)
	sec := 0
	if p.peek() == ':' {
		p.skip(':')
		sec = p.digits(2)
		if c := p.peek(); c == '.' || c == ',' {
			p.s = p.s[1:]
			ms += p.fraction()
		}
	}
	if !p.ok || h > 23 || min > 59 || sec > 59 {
		return 0, false
	}
	ms += int64(h)*3600000 + int64(min)*60000 + int64(sec)*1000
	return ms - p.zone(), p.ok && len(p.s) == 0
}

func daysIn(y, m int) int {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

type timeParser struct {
	s  []byte
	ok bool
}

func (p *timeParser) peek() byte {
	if len(p.s) == 0 {
		return 0
	}
	return p.s[0]
}

func (p *timeParser) skip(c byte) {
	if p.peek() != c {
		p.ok = false
		return
	}
	p.s = p.s[1:]
}

func (p *timeParser) digits(n int) (v int) {
	if len(p.s) < n {
		p.ok = false
		return 0
	}
	for _, c := range p.s[:n] {
		if c-'0' > 9 {
			p.ok = false
			return 0
		}
		v = v*10 + int(c-'0')
	}
	p.s = p.s[n:]
	return v
}

// fraction reads the digits after the point as milliseconds.
func (p *timeParser) fraction() int64 {
	ms, unit, n := 0, 100, 0
	for n < len(p.s) && p.s[n]-'0' <= 9 {
		ms += int(p.s[n]-'0') * unit
		unit /= 10
		n++
	}
	p.s = p.s[n:]
	p.ok = p.ok && n > 0
	return int64(ms)
}

// zone reads Z, +hh:mm, +hhmm, +hh or nothing as milliseconds east of UTC.
func (p *timeParser) zone() int64 {
	c := p.peek()
	switch {
	case c == 0:
		return 0
	case c|0x20 == 'z':
		p.s = p.s[1:]
		return 0
	case c != '+' && c != '-':
		p.ok = false
		return 0
	}
	p.s = p.s[1:]
	h, min := p.digits(2), 0
	if p.peek() == ':' {
		p.s = p.s[1:]
		min = p.digits(2)
	} else if len(p.s) > 0 {
		min = p.digits(2)
	}
	if h > 23 || min > 59 {
		p.ok = false
	}
	off := int64(h)*3600000 + int64(min)*60000
	if c == '-' {
		return -off
	}
	return off
}
