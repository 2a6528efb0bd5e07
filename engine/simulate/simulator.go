package simulate

import (
	"fmt"
	"slices"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/changelog"
	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/project"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Simulator is the state of all models of a project.
type Simulator struct {
	sources []*source
	models  []*model
	clock   int64 // epoch time, milliseconds
}

// source is one relation from outside.
type source struct {
	def     *project.Source
	decoder *decode.Decoder
	layout  types.Schema
}

// model is one running model.
type model struct {
	def      *project.Compiled
	relation engine.Relation
	layout   types.Schema // of what it gives to readers
	flow     *flow.Flow
	upserts  *changelog.Upserts // nil: the statement's own changelog
	id       changelog.Identity
	chained  bool // it reads another model: its epoch ends when those have committed
	records  []changelog.Record
	late     [][]types.Value  // rows that came behind their window, with the columns of the flow's LateSchema
	rows     map[string]*held // what the records add up to
}

// held is a row of a model with its weight.
type held struct {
	row    []types.Value
	weight int64
}

// New makes the models of a project, without rows.
func New(c *project.Checked) *Simulator {
	s := &Simulator{}
	for i := range c.Project.Sources {
		def := &c.Project.Sources[i]
		d := decode.New(def.Fields, decode.Options{
			OnCoercion: decode.DropRow, RejectUnknownFields: true, TimestampField: def.TimestampField, Keyed: def.Key != nil,
		})
		s.sources = append(s.sources, &source{def: def, decoder: d, layout: d.Layout()})
	}
	for _, def := range c.Models {
		m := &model{def: def, relation: def.Relation(), id: changelog.IdentityOf(def.Effective, def.Program.Output()), rows: map[string]*held{}}
		m.layout = m.relation.Schema.Clone()
		if m.relation.EventTime {
			m.layout = append(m.layout, types.Field{Name: types.TsColumn, Kind: types.Long})
		}
		m.reset()
		for _, name := range def.Reads {
			m.chained = m.chained || c.Model(name) != nil
		}
		s.models = append(s.models, m)
	}
	return s
}

func (m *model) reset() {
	m.flow = m.def.Program.NewFlow()
	if !m.def.Upserted() {
		return
	}
	root := m.def.Program.Query().Root.Schema()
	kinds := make([]types.Kind, len(root))
	for i, f := range root {
		kinds[i] = f.Stored()
	}
	time := -1
	if m.relation.EventTime && m.def.Mode == engine.TableMode {
		time = len(m.relation.Schema)
	}
	m.upserts = changelog.NewUpserts(kinds, m.id.Key, time)
}

// model finds a model by name; nil when there is none.
func (s *Simulator) model(name string) *model {
	for _, m := range s.models {
		if m.def.Name == name {
			return m
		}
	}
	return nil
}

func (s *Simulator) source(name string) *source {
	for _, src := range s.sources {
		if src.def.Name == name {
			return src
		}
	}
	return nil
}

// Refusal is a row that a source does not take.
type Refusal struct {
	Row    int // position among the rows of the epoch
	Reason string
}

// Epoch takes rows in order of arrival and ends the epoch. A row without an event time arrives one millisecond after
// what came before it; the clock follows the newest row.
func (s *Simulator) Epoch(rows []Row) []Refusal {
	var refused []Refusal
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && rows[to].Source == rows[from].Source {
			to++
		}
		src := s.source(rows[from].Source)
		if src == nil {
			refused = append(refused, Refusal{from, fmt.Sprintf("no source %q", rows[from].Source)})
			from = to
			continue
		}
		var parts []*zset.Batch
		for i := from; i < to; i++ {
			b, reason := s.decode(src, rows[i])
			if b == nil {
				refused = append(refused, Refusal{i, reason})
				continue
			}
			parts = append(parts, b)
		}
		if len(parts) > 0 {
			s.push(src.def.Name, src.layout, zset.Concat(parts...))
		}
		from = to
	}
	s.end()
	return refused
}

// decode reads one row and moves the clock to it. The batch is nil when the row is refused.
func (s *Simulator) decode(src *source, r Row) (b *zset.Batch, reason string) {
	out := src.decoder.Append(decode.Message{Payload: r.JSON, ContentType: "application/json", TimeMs: s.clock + 1})
	b = src.decoder.Take()
	if len(out.Failures) > 0 {
		return nil, out.Failures[0].Reason
	}
	if c, ok := src.layout.Find(types.TsColumn); ok && !b.Cols[c].IsNull(0) {
		s.clock = max(s.clock, b.Cols[c].I64[0])
	}
	return b, ""
}

// Advance moves the clock without rows.
func (s *Simulator) Advance(ms int64) {
	s.clock += ms
	s.end()
}

// end ends an epoch: models commit in order of dependency, and what a model gives reaches its readers in the same epoch.
func (s *Simulator) end() {
	for _, m := range s.models {
		if !m.chained {
			m.flow.Advance(s.clock)
		}
	}
	for _, m := range s.models {
		if m.chained {
			m.flow.Advance(s.clock)
		}
		out := m.flow.Flush()
		if out.Late != nil {
			for i := range out.Late.N {
				m.late = append(m.late, out.Late.Row(i))
			}
		}
		s.commit(m, out.Delta)
	}
}

func (s *Simulator) commit(m *model, delta *zset.Batch) {
	if m.upserts != nil {
		delta = m.upserts.Apply(delta)
	}
	if delta == nil || delta.N == 0 {
		return
	}
	visible := len(m.relation.Schema)
	records := changelog.Delta
	if m.def.Mode == engine.PipelineMode && m.upserts == nil {
		records = changelog.Sequence
	}
	for _, r := range records(delta, visible, m.id) {
		m.records = append(m.records, r)
		m.hold(r)
	}
	s.push(m.def.Name, m.layout, delta)
}

// hold adds a record to the rows of the model.
func (m *model) hold(r changelog.Record) {
	add := func(row []types.Value, weight int64) {
		var k []byte
		for _, v := range row {
			k = zset.AppendValue(k, v)
		}
		h := m.rows[string(k)]
		if h == nil {
			h = &held{row: row}
			m.rows[string(k)] = h
		}
		if h.weight += weight; h.weight == 0 {
			delete(m.rows, string(k))
		}
	}
	switch r.Op {
	case changelog.Insert:
		add(r.Row, r.Count)
	case changelog.Update:
		add(r.Before, -r.Count)
		add(r.Row, r.Count)
	case changelog.Delete:
		add(r.Row, -r.Count)
	}
}

// push gives rows of a relation to every model that reads it.
func (s *Simulator) push(relation string, layout types.Schema, b *zset.Batch) {
	if b == nil || b.N == 0 {
		return
	}
	for _, m := range s.models {
		for i, in := range m.def.Program.Inputs() {
			if in.Name != relation {
				continue
			}
			want := &zset.Batch{N: b.N, Weight: b.Weight, Cols: make([]zset.Column, len(in.Columns))}
			for c, f := range in.Columns {
				at, ok := layout.Find(f.Name)
				if !ok {
					panic(fmt.Sprintf("BUG: %s has no column %q for model %s", relation, f.Name, m.def.Name))
				}
				want.Cols[c] = b.Cols[at]
			}
			m.flow.Push(i, want)
		}
	}
}

// Restart snapshots everything and goes on with what a new process restores.
func (s *Simulator) Restart() error {
	for _, m := range s.models {
		snapshot := m.flow.Snapshot(nil)
		var upserts []byte
		if m.upserts != nil {
			upserts = m.upserts.AppendSnapshot(nil)
		}
		m.reset()
		if err := m.flow.Restore(snapshot); err != nil {
			return fmt.Errorf("restart of model %s: %w", m.def.Name, err)
		}
		if again := m.flow.Snapshot(nil); !slices.Equal(again, snapshot) {
			return fmt.Errorf("restart of model %s: the restored state has another snapshot", m.def.Name)
		}
		if m.upserts != nil {
			if err := m.upserts.Restore(upserts); err != nil {
				return fmt.Errorf("restart of model %s: %w", m.def.Name, err)
			}
		}
	}
	return nil
}
