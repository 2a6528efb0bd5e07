package streams

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
)

// EntryKind says what a journal entry means.
type EntryKind uint8

const (
	// Delta is the change of one epoch (or of several, coalesced): the ordinary entry.
	Delta EntryKind = iota
	// Base holds all rows at an epoch, in chunks. A reader from before it may skip it; one that starts at it takes it
	// instead of everything before.
	Base
	// Marker carries no rows: a swap of generations, or the claim of a new owner.
	Marker
)

var kindNames = [...]string{Delta: "delta", Base: "base", Marker: "marker"}

func (k EntryKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// Position is how far an input was read: the last sequence that an entry reflects, of one incarnation of the input.
type Position struct {
	Input       string
	Incarnation string
	Seq         uint64
}

// Entry is one commit of a journal: the change, and what it reflects, in one append (Invariant 2).
type Entry struct {
	Kind       EntryKind
	Epoch      uint64     // the epoch that the entry completes
	Inputs     []Position // input positions reflected, in the declared order
	Watermark  int64      // event time in ms; 0 when the entity has none
	Term       uint64     // fencing number of the owner; set by Append
	Generation uint64     // of a side build
	SeqNo      uint64     // number of the first row (Sf-Seq); 0 when rows are not numbered
	// Prev is the newest epoch before this one up to which the output did not change, so that a dependent knows where it
	// may stop; 0 when it is not said.
	Prev uint64
	// Plan is the fingerprint of the query that made the entry: at most 64 printable characters.
	Plan string
	// ContentType of the data; empty means none is written.
	ContentType string
	Data        []byte
}

// check refuses what a header cannot carry unchanged.
func (e *Entry) check() error {
	for _, text := range []string{e.Plan, e.ContentType} {
		if len(text) > 64 || strings.TrimSpace(text) != text || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			return fmt.Errorf("%q does not fit into a header", text)
		}
	}
	if n := len(formatInputs(e.Inputs)); n > maxInputs {
		return fmt.Errorf("%d inputs: %w", len(e.Inputs), ErrTooLarge)
	}
	return nil
}

// maxInputs bounds the text of the input positions: the server stores 64 KiB of headers.
const maxInputs = 48 << 10

// Stored is an entry as it was read.
type Stored struct {
	Entry
	First, Last uint64   // the stream sequences of its messages; equal unless it was split
	TimeMs      int64    // when the last message was stored
	BaseSeq     uint64   // the first message of the newest complete base; 0 when there is none
	Chunks      [][]byte // of a base, which has no Data

	writer string
}

// Headers of a journal message (docs/format/journal.md).
const (
	HeaderEpoch      = "Sf-Epoch"
	HeaderInputs     = "Sf-Inputs"
	HeaderWatermark  = "Sf-Watermark"
	HeaderTerm       = "Sf-Term"
	HeaderKind       = "Sf-Kind"
	HeaderGeneration = "Sf-Generation"
	HeaderSeq        = "Sf-Seq"
	HeaderPrev       = "Sf-Prev"
	HeaderPlan       = "Sf-Plan"
	HeaderPart       = "Sf-Part"
	HeaderBase       = "Sf-Base"
	HeaderCommit     = "Sf-Commit"
	HeaderWriter     = "Sf-Writer"
	HeaderSum        = "Sf-Sum"

	headerContentType = "Content-Type"
)

// part is one message of an entry.
type part struct {
	Entry
	n, of  int    // part n of of; 1 of 1 when it is whole; of is 0 while a base is being written
	base   uint64 // Sf-Base
	commit uint64 // Sf-Commit
	writer string
}

// castagnoli has hardware support on every machine this runs on.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header writes the headers of one message, the checksum over them and the data last.
func (p *part) header() nats.Header {
	h := make(nats.Header, 10)
	set := func(k, v string) { h[k] = []string{v} }
	set(HeaderEpoch, strconv.FormatUint(p.Epoch, 10))
	set(HeaderTerm, strconv.FormatUint(p.Term, 10))
	set(HeaderWriter, p.writer)
	if len(p.Inputs) > 0 {
		set(HeaderInputs, formatInputs(p.Inputs))
	}
	if p.Kind != Delta {
		set(HeaderKind, p.Kind.String())
	}
	if p.Watermark != 0 {
		set(HeaderWatermark, strconv.FormatInt(p.Watermark, 10))
	}
	for _, f := range []struct {
		key string
		v   uint64
	}{{HeaderGeneration, p.Generation}, {HeaderSeq, p.SeqNo}, {HeaderPrev, p.Prev}, {HeaderBase, p.base}, {HeaderCommit, p.commit}} {
		if f.v != 0 {
			set(f.key, strconv.FormatUint(f.v, 10))
		}
	}
	if p.n != 1 || p.of != 1 {
		set(HeaderPart, strconv.Itoa(p.n)+"/"+strconv.Itoa(p.of))
	}
	if p.Plan != "" {
		set(HeaderPlan, p.Plan)
	}
	if p.ContentType != "" {
		set(headerContentType, p.ContentType)
	}
	set(HeaderSum, sum(h, p.Data))
	return h
}

// sum is the CRC-32C over the headers of the entry, in a fixed order, and the data.
func sum(h nats.Header, data []byte) string {
	var c uint32
	for _, k := range [...]string{
		HeaderEpoch, HeaderInputs, HeaderWatermark, HeaderTerm, HeaderKind, HeaderGeneration, HeaderSeq, HeaderPrev, HeaderPlan, HeaderPart,
		HeaderBase, HeaderCommit, HeaderWriter, headerContentType,
	} {
		if v, ok := h[k]; ok && len(v) > 0 {
			c = crc32.Update(c, castagnoli, []byte(k))
			c = crc32.Update(c, castagnoli, []byte{':'})
			c = crc32.Update(c, castagnoli, []byte(v[0]))
			c = crc32.Update(c, castagnoli, []byte{'\n'})
		}
	}
	return fmt.Sprintf("%08x", crc32.Update(c, castagnoli, data))
}

// parsePart is the inverse of header. Every failure is an ErrForeign.
func parsePart(m Msg) (p part, err error) {
	foreign := func(format string, v ...any) (part, error) {
		return part{}, fmt.Errorf("message %d: %w: %s", m.Seq, ErrForeign, fmt.Sprintf(format, v...))
	}
	if _, ok := m.Header[HeaderEpoch]; !ok {
		return foreign("it has no %s header", HeaderEpoch)
	}
	if got, want := m.Header.Get(HeaderSum), sum(m.Header, m.Data); got != want {
		return foreign("its checksum is %q, its content says %q", got, want)
	}
	p = part{n: 1, of: 1, writer: m.Header.Get(HeaderWriter)}
	p.Data, p.ContentType, p.Plan = m.Data, m.Header.Get(headerContentType), m.Header.Get(HeaderPlan)
	for _, f := range []struct {
		key string
		v   *uint64
	}{{HeaderEpoch, &p.Epoch}, {HeaderTerm, &p.Term}, {HeaderGeneration, &p.Generation}, {HeaderSeq, &p.SeqNo}, {HeaderPrev, &p.Prev}, {HeaderBase, &p.base}, {HeaderCommit, &p.commit}} {
		if text := m.Header.Get(f.key); text != "" {
			if *f.v, err = strconv.ParseUint(text, 10, 64); err != nil {
				return foreign("%s: %v", f.key, err)
			}
		}
	}
	if text := m.Header.Get(HeaderWatermark); text != "" {
		if p.Watermark, err = strconv.ParseInt(text, 10, 64); err != nil {
			return foreign("%s: %v", HeaderWatermark, err)
		}
	}
	if text := m.Header.Get(HeaderKind); text != "" {
		k := slices.Index(kindNames[:], text)
		if k < 0 {
			return foreign("%s: %q is not a kind of entry", HeaderKind, text)
		}
		p.Kind = EntryKind(k)
	}
	if text := m.Header.Get(HeaderInputs); text != "" {
		if p.Inputs, err = parseInputs(text); err != nil {
			return foreign("%s: %v", HeaderInputs, err)
		}
	}
	if text := m.Header.Get(HeaderPart); text != "" {
		n, of, _ := strings.Cut(text, "/")
		var errN, errOf error
		p.n, errN = strconv.Atoi(n)
		p.of, errOf = strconv.Atoi(of)
		open := p.of == 0 && p.Kind == Base
		if errN != nil || errOf != nil || p.n < 1 || p.n > p.of && !open {
			return foreign("%s: %q is not i/n", HeaderPart, text)
		}
	}
	return p, nil
}

// formatInputs writes <input>#<incarnation>=<seq>, joined by commas; the names are encoded, so that they hold
// neither of the separators.
func formatInputs(in []Position) string {
	var b []byte
	for i, p := range in {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, Encode(p.Input)...)
		b = append(b, '#')
		b = append(b, Encode(p.Incarnation)...)
		b = append(b, '=')
		b = strconv.AppendUint(b, p.Seq, 10)
	}
	return string(b)
}

func parseInputs(text string) ([]Position, error) {
	in := make([]Position, 0, strings.Count(text, ",")+1)
	for item := range strings.SplitSeq(text, ",") {
		eq := strings.LastIndexByte(item, '=')
		name, inc, ok := strings.Cut(item[:max(eq, 0)], "#")
		if !ok {
			return nil, fmt.Errorf("%q is not <input>#<incarnation>=<seq>", item)
		}
		p := Position{}
		var err error
		if p.Input, err = Decode(name); err != nil {
			return nil, err
		}
		if inc != "" {
			if p.Incarnation, err = Decode(inc); err != nil {
				return nil, err
			}
		}
		if p.Seq, err = strconv.ParseUint(item[eq+1:], 10, 64); err != nil {
			return nil, fmt.Errorf("position of %q: %w", p.Input, err)
		}
		in = append(in, p)
	}
	return in, nil
}
