package flow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"

	"github.com/streamsforge/streamsforge/engine/plan"
)

// Errors of Restore. After any error the flow is unusable; make a new one.
var (
	// ErrSnapshot is returned for bytes that are cut off, damaged, or of a version that this program does not know.
	ErrSnapshot = errors.New("not a valid snapshot of a flow")
	// ErrOtherPlan is returned for a snapshot of another query: the state must be built from the inputs again.
	ErrOtherPlan = errors.New("the snapshot belongs to another plan")
)

const (
	snapMagic   = "SFFL"
	snapVersion = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Snapshot appends the whole state. It is taken between Flush and the next Push.
//
// Layout: "SFFL", version, fingerprint of the plan (8 bytes), then length-prefixed blocks: time and counters, one
// block an operator, children first; a CRC-32C of all before it ends it.
func (f *Flow) Snapshot(dst []byte) []byte {
	if len(f.out.parts)+len(f.late.parts) > 0 {
		panic("BUG: snapshot of a flow between Push and Flush")
	}
	from := len(dst)
	dst = append(append(dst, snapMagic...), snapVersion)
	dst = binary.LittleEndian.AppendUint64(dst, fingerprint(f.query))
	dst = appendBlock(dst, f.appendBooks)
	dst = binary.AppendUvarint(dst, uint64(len(f.nodes)))
	for _, n := range f.nodes {
		dst = appendBlock(dst, n.op.AppendSnapshot)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[from:], castagnoli))
}

// appendBooks writes what is known of time and the counters of the flow itself.
func (f *Flow) appendBooks(dst []byte) []byte {
	put := func(vs ...int64) {
		for _, v := range vs {
			dst = binary.AppendVarint(dst, v)
		}
	}
	for _, in := range f.inputs {
		put(in.rows, in.newest, in.last, flag(in.pushed), flag(in.idle))
	}
	for _, s := range f.scopes {
		put(s.watermark)
	}
	for _, p := range f.paths {
		put(p.rows)
	}
	for _, r := range f.ends() {
		put(*r)
	}
	put(f.rowsOut)
	return dst
}

// ends lists the counters of the ends of the paths, each once: several scans can end in the output.
func (f *Flow) ends() []*int64 {
	var out []*int64
	for _, p := range f.paths {
		out = append(out, p.reached)
	}
	return out
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Restore replaces the state by a snapshot of the same query. The flow must be new.
func (f *Flow) Restore(b []byte) error {
	const head = len(snapMagic) + 1 + 8
	if len(b) < head+4 || string(b[:len(snapMagic)]) != snapMagic {
		return fmt.Errorf("%w: it does not begin with %q", ErrSnapshot, snapMagic)
	}
	if v := b[len(snapMagic)]; v != snapVersion { // Invariant 8: a new version reads the one before; there is none before this.
		return fmt.Errorf("%w: it has version %d, this program reads version %d", ErrSnapshot, v, snapVersion)
	}
	if got := binary.LittleEndian.Uint64(b[len(snapMagic)+1:]); got != fingerprint(f.query) {
		return ErrOtherPlan
	}
	end := len(b) - 4
	if crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return fmt.Errorf("%w: the checksum does not match", ErrSnapshot)
	}
	r := reader{b: b[head:end]}
	books := reader{b: r.block()}
	f.restoreBooks(&books)
	if books.fail || len(books.b) > 0 {
		return fmt.Errorf("%w: the counters are damaged", ErrSnapshot)
	}
	if n := r.uvarint(); n != uint64(len(f.nodes)) {
		return fmt.Errorf("%w: it has %d operators, the plan has %d", ErrSnapshot, n, len(f.nodes))
	}
	for _, n := range f.nodes {
		if err := n.op.Restore(r.block()); err != nil {
			return fmt.Errorf("restore %s: %w", n.name, err)
		}
	}
	if r.fail || len(r.b) > 0 {
		return fmt.Errorf("%w: it is cut off or too long", ErrSnapshot)
	}
	return nil
}

func (f *Flow) restoreBooks(r *reader) {
	for _, in := range f.inputs {
		in.rows, in.newest, in.last = r.varint(), r.varint(), r.varint()
		in.pushed, in.idle = r.varint() != 0, r.varint() != 0
	}
	for _, s := range f.scopes {
		s.watermark = r.varint()
	}
	for _, p := range f.paths {
		p.rows = r.varint()
	}
	for _, e := range f.ends() {
		*e = r.varint()
	}
	f.rowsOut = r.varint()
}

// fingerprint identifies a plan: its printed tree with the kinds of all columns, the inputs and the rules of time.
func fingerprint(q *plan.Query) uint64 {
	h := fnv.New64a()
	for _, in := range q.Inputs {
		fmt.Fprintf(h, "%s %s (%s)\n", in.Kind, in.Name, in.Columns)
	}
	fmt.Fprintf(h, "%v %v %+v\n", q.EventTime, q.Pipeline, q.Time)
	var walk func(n plan.Node, depth int)
	walk = func(n plan.Node, depth int) {
		fmt.Fprintf(h, "%d %s %s", depth, n.Name(), n.Detail())
		switch n := n.(type) {
		case *plan.Scan:
			fmt.Fprintf(h, " %d %v", n.Input, n.Cols)
		case *plan.Recursive:
			fmt.Fprintf(h, " %s", plan.Explain(n.Step))
		case *plan.LatestBy:
			fmt.Fprintf(h, " %v %d %d", n.Keys, n.Ts, n.Retract)
		case *plan.Window:
			fmt.Fprintf(h, " %d", n.Ts)
		case *plan.Rolling:
			fmt.Fprintf(h, " %d", n.Col)
		case *plan.IntervalJoin:
			fmt.Fprintf(h, " %d %d", n.LeftTs, n.RightTs)
		}
		for _, c := range n.Schema() {
			fmt.Fprintf(h, " %s", c.Stored())
		}
		fmt.Fprintf(h, " %v\n", n.AppendOnly())
		for _, c := range n.Children() {
			walk(c, depth+1)
		}
	}
	walk(q.Root, 0)
	return h.Sum64()
}

func appendBlock(dst []byte, write func([]byte) []byte) []byte {
	at := len(dst)
	dst = write(append(dst, 0, 0, 0, 0, 0, 0, 0, 0))
	binary.LittleEndian.PutUint64(dst[at:], uint64(len(dst)-at-8))
	return dst
}

// reader reads the fields of a snapshot; after the first field that is cut off it gives zeros.
type reader struct {
	b    []byte
	fail bool
}

func (r *reader) block() []byte {
	if len(r.b) < 8 {
		r.fail, r.b = true, nil
		return nil
	}
	n := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	if n > uint64(len(r.b)) {
		r.fail, r.b = true, nil
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}
