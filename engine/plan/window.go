package plan

import (
	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// WindowKind is the kind of a window of event time.
type WindowKind uint8

// The kinds of windows.
const (
	// Tumbling windows follow each other: [n*size, (n+1)*size).
	Tumbling WindowKind = iota
	// Hopping windows start at every multiple of the advance and overlap, or leave gaps.
	Hopping
	// Session windows of a key end when nothing comes for a while.
	Session
)

var windowKindNames = [...]string{"TUMBLING", "HOPPING", "SESSION"}

func (k WindowKind) String() string { return windowKindNames[k] }

// Window groups rows by Keys and window of event time, and emits one row per group when the watermark passes the
// window's end (of a session: the end and the gap): the keys, the aggregates, window_start, window_end, with Changes
// _final, with AmendMs _revision, and _ts (the end).
type Window struct {
	In Node
	// Ts is the position of the event time in the input.
	Ts   int
	Kind WindowKind
	// SizeMs is the length of a window, or the gap of a session; AdvanceMs is that of a hopping window.
	SizeMs, AdvanceMs int64
	// Changes emits a running row for each row that comes, with _final false.
	Changes bool
	// LatenessMs is how far behind the watermark a row may be and still count: windows close that much later.
	LatenessMs int64
	// AmendMs is how far behind the watermark a row may be and still change a window that was given out: its row is
	// retracted, and the new one asserted with the next _revision.
	AmendMs int64
	// DropLate says that rows that are too late are counted and not kept.
	DropLate bool
	Keys     []expr.Expr
	Aggs     []agg.Call

	schema types.Schema
}

var _ Node = (*Window)(nil)

// Names of the columns that a window adds.
const (
	WindowStart = "window_start"
	WindowEnd   = "window_end"
	Final       = "_final"
	Revision    = "_revision"
)

// NewWindow groups in by keys and tumbling windows of size milliseconds over column ts.
func NewWindow(in Node, ts int, size int64, keys []expr.Expr, aggs []agg.Call) *Window {
	return Window{SizeMs: size}.With(in, ts, keys, aggs)
}

// With is a window of the same shape over an input.
func (n Window) With(in Node, ts int, keys []expr.Expr, aggs []agg.Call) *Window {
	n.In, n.Ts, n.Keys, n.Aggs = in, ts, keys, aggs
	n.schema = groupSchema(keys, aggs)
	n.schema = append(n.schema, n.Added()...)
	return &n
}

// Added lists the columns behind keys and aggregates; the last one is _ts.
func (n *Window) Added() types.Schema {
	s := types.Schema{{Name: WindowStart, Kind: types.Long}, {Name: WindowEnd, Kind: types.Long}}
	if n.Changes {
		s = append(s, types.Field{Name: Final, Kind: types.Bool})
	}
	if n.AmendMs > 0 {
		s = append(s, types.Field{Name: Revision, Kind: types.Long})
	}
	return append(s, types.Field{Name: types.TsColumn, Kind: types.Long})
}

// Schema is the keys, the aggregates and what the window adds.
func (n *Window) Schema() types.Schema { return n.schema }

// Children is the input.
func (n *Window) Children() []Node { return []Node{n.In} }

// AppendOnly is true when a closed window is final.
func (n *Window) AppendOnly() bool { return n.AmendMs == 0 }

// Key is the grouping columns and the window: unknown when running rows come before the closing one. Sessions of one
// key may begin at the same time, one of them late.
func (n *Window) Key() []int {
	if n.Changes || n.Kind == Session && n.AmendMs > 0 {
		return nil
	}
	return append(firstN(len(n.Keys)), len(n.Keys)+len(n.Aggs))
}

// Changelog is Append, or Upsert by key and window when closed windows are amended.
func (n *Window) Changelog() Changelog { return changelog(n) }

// Name of the operator.
func (n *Window) Name() string { return "Window" }

// Detail is the window, keys and aggregates.
func (n *Window) Detail() string {
	s := n.Kind.String() + "(" + FormatMillis(n.SizeMs)
	if n.Kind == Hopping {
		s += " by " + FormatMillis(n.AdvanceMs)
	}
	s += ") "
	if n.Changes {
		s += "changes "
	}
	if n.LatenessMs > 0 {
		s += "lateness " + FormatMillis(n.LatenessMs) + " "
	}
	if n.AmendMs > 0 {
		s += "amended for " + FormatMillis(n.AmendMs) + " "
	}
	if n.DropLate {
		s += "late rows dropped "
	}
	return s + groupDetail(n.Keys, n.Aggs)
}

func (n *Window) withChildren(c []Node) Node { return n.With(c[0], n.Ts, n.Keys, n.Aggs) }
