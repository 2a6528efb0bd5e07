package generator

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/streamsforge/streamsforge/connectors"
)

// Request asks for a run. The optional members replace parts of the stored scenario for this run.
type Request struct {
	RunID        string
	Seed         *int64
	Paths, Days  *int
	Rho          *float64
	Distribution *connectors.Distribution
	// Step asks for the next day of the run alone.
	Step bool
}

// Row is one row of a run.
type Row struct {
	RunID        string
	PathID       int64
	InstrumentID string
	Day          int64
	Factor       float64
	Shock        float64
	Value        float64
	TsMs         int64
}

// AppendJSON adds the row to dst as one JSON object.
func (r *Row) AppendJSON(dst []byte) []byte {
	o := object{b: append(dst, '{')}
	o.text("run_id", escape(r.RunID))
	o.long("path_id", r.PathID)
	o.text("instrument_id", escape(r.InstrumentID))
	o.long("day", r.Day)
	for _, m := range [...]struct {
		key string
		v   float64
	}{{"factor", r.Factor}, {"shock", r.Shock}, {"value", r.Value}} {
		o.key(m.key)
		o.b = strconv.AppendFloat(o.b, m.v, 'g', -1, 64)
	}
	o.long("_ts", r.TsMs)
	return append(o.b, '}')
}

// Bounds of a Runner. A run in the middle of its steps holds one value for each path and instrument.
const (
	maxRows     = 1_000_000
	maxStepping = 1_000
	maxFinished = 100_000
)

// Runner makes the rows of one scenario source. Its memory of stepped runs ends with it.
//
// The same scenario, seed and time give the same rows to the last bit: one generator, drawn per day for each path in
// the order of the groups' first appearance, then of the instruments. A full run and the concatenation of all its
// steps are equal, because a run is nothing but its steps.
type Runner struct {
	spec  connectors.ScenarioSpec
	clock connectors.Clock

	mu       sync.Mutex
	stepping map[string]*walk
	finished map[string]bool
	order    []string // of finished, oldest first
}

// NewRunner returns a runner of a stored scenario.
func NewRunner(spec connectors.ScenarioSpec, clock connectors.Clock) *Runner {
	return &Runner{spec: spec, clock: clock, stepping: map[string]*walk{}, finished: map[string]bool{}}
}

// Run makes the rows of a request and hands them to emit; a step counts only when emit has succeeded. The error is a
// *connectors.InvalidError with every problem when the request cannot be run; nothing is emitted then. Runs of one
// source follow each other.
func (r *Runner) Run(q Request, emit func([]Row) error) ([]Row, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	spec := q.apply(r.spec)
	if err := connectors.Invalid(problems(spec, q.RunID)); err != nil {
		return nil, err
	}
	now := r.clock.Now().UnixMilli()
	if !q.Step {
		w := newWalk(spec)
		rows := make([]Row, 0, spec.Paths*len(spec.Instruments)*spec.Days)
		for w.day < spec.Days {
			var err error
			if rows, err = w.step(rows, q.RunID, now); err != nil {
				return nil, err
			}
		}
		return rows, emit(rows)
	}
	return r.step(spec, q, now, emit)
}

func (r *Runner) step(spec connectors.ScenarioSpec, q Request, now int64, emit func([]Row) error) ([]Row, error) {
	if r.finished[q.RunID] {
		return []Row{}, nil
	}
	w := r.stepping[q.RunID]
	if w == nil {
		if len(r.stepping) >= maxStepping {
			return nil, connectors.Invalid([]string{fmt.Sprintf(
				"%d runs of this source are in the middle of their steps: finish one, or disable and enable the source to drop them all", maxStepping)})
		}
		w = newWalk(spec)
	}
	// A run keeps the parameters of its first step; the state moves on only when the rows have been taken.
	next := w.clone()
	rows, err := next.step(nil, q.RunID, now)
	if err != nil {
		return nil, err
	}
	if err := emit(rows); err != nil {
		return nil, err
	}
	if next.day < next.spec.Days {
		r.stepping[q.RunID] = next
		return rows, nil
	}
	delete(r.stepping, q.RunID)
	r.finished[q.RunID] = true
	if r.order = append(r.order, q.RunID); len(r.order) > maxFinished {
		delete(r.finished, r.order[0])
		r.order = r.order[1:]
	}
	return rows, nil
}

func (q Request) apply(s connectors.ScenarioSpec) connectors.ScenarioSpec {
	if q.Seed != nil {
		s.Seed = *q.Seed
	}
	if q.Paths != nil {
		s.Paths = *q.Paths
	}
	if q.Days != nil {
		s.Days = *q.Days
	}
	if q.Rho != nil {
		s.Rho = *q.Rho
	}
	if q.Distribution != nil {
		s.Distribution = *q.Distribution
	}
	return s
}

// distribution kinds, compared without regard to case.
var distributions = []string{"normal", "lognormal", "student_t"}

// problems lists everything that keeps a scenario from running.
func problems(s connectors.ScenarioSpec, runID string) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if strings.TrimSpace(runID) == "" {
		add("run_id is required")
	}
	if s.InstrumentsSourceName != "" {
		add("instrumentsSourceName is not supported: list the instruments in the scenario")
	}
	if s.Paths <= 0 {
		add("paths is %d: it must be greater than 0", s.Paths)
	}
	if s.Days <= 0 {
		add("days is %d: it must be greater than 0", s.Days)
	}
	if !(s.Rho >= 0 && s.Rho <= 1) {
		add("rho is %v: it must be within 0..1", s.Rho)
	}
	kind := strings.ToLower(s.Distribution.Kind)
	switch {
	case !slices.Contains(distributions, kind):
		add("distribution kind %q is unknown: expected one of %s", s.Distribution.Kind, strings.Join(distributions, ", "))
	case kind == "student_t" && !(s.Distribution.Df > 2):
		add("df is %v: student_t needs more than 2 degrees of freedom", s.Distribution.Df)
	}
	out = append(out, instrumentProblems(s.Instruments, kind)...)
	if s.MaxBatchRows <= 0 || s.MaxBatchRows > maxRows {
		add("maxBatchRows is %d: it must be within 1..%d", s.MaxBatchRows, maxRows)
	} else if s.Paths > 0 && s.Days > 0 {
		// Products of three ints: compare in floating point, where they cannot wrap.
		if n := float64(s.Paths) * float64(s.Days) * float64(len(s.Instruments)); n > float64(s.MaxBatchRows) {
			add("paths x instruments x days is %.0f rows: more than maxBatchRows, which is %d", n, s.MaxBatchRows)
		}
	}
	return out
}

func instrumentProblems(in []connectors.Instrument, kind string) []string {
	if len(in) == 0 {
		return []string{"instruments is empty: the scenario needs at least one"}
	}
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	seen := map[string]bool{}
	for i, x := range in {
		switch {
		case strings.TrimSpace(x.ID) == "":
			add("instrument %d has a blank id", i)
		case seen[x.ID]:
			add("instrument id %q is used twice", x.ID)
		}
		seen[x.ID] = true
		if !(x.Vol >= 0) || math.IsInf(x.Vol, 0) {
			add("vol of instrument %q is %v: it must be 0 or more", x.ID, x.Vol)
		}
		if kind == "lognormal" && !(x.Base > 0) {
			add("base of instrument %q is %v: lognormal needs more than 0", x.ID, x.Base)
		}
	}
	return out
}

// walk is the state of a run between two days.
type walk struct {
	spec   connectors.ScenarioSpec
	kind   string
	groups []int // group of each instrument, numbered by first appearance
	n      int   // number of groups
	day    int   // days done
	values []float64
	pcg    *rand.PCG
}

func newWalk(s connectors.ScenarioSpec) *walk {
	w := &walk{spec: s, kind: strings.ToLower(s.Distribution.Kind), pcg: rand.NewPCG(uint64(s.Seed), 0x9e3779b97f4a7c15)}
	named := map[string]int{}
	for _, x := range s.Instruments {
		g, ok := named[x.Group]
		if !ok || x.Group == "" { // a blank group is a group of its own
			g = w.n
			w.n++
			named[x.Group] = g
		}
		w.groups = append(w.groups, g)
	}
	w.values = make([]float64, 0, s.Paths*len(s.Instruments))
	for range s.Paths {
		for _, x := range s.Instruments {
			w.values = append(w.values, x.Base)
		}
	}
	return w
}

func (w *walk) clone() *walk {
	c := *w
	c.values = slices.Clone(w.values)
	pcg := *w.pcg
	c.pcg = &pcg
	return &c
}

// step appends the rows of the next day.
func (w *walk) step(dst []Row, runID string, nowMs int64) ([]Row, error) {
	r := rand.New(w.pcg)
	own, common := math.Sqrt(1-w.spec.Rho), math.Sqrt(w.spec.Rho)
	factors := make([]float64, w.n)
	w.day++
	for p := range w.spec.Paths {
		for g := range factors {
			factors[g] = w.draw(r)
		}
		for i, x := range w.spec.Instruments {
			f := factors[w.groups[i]]
			// The conversions keep every product rounded: no processor may fuse it with the sum.
			shock := float64(common*f) + float64(own*w.draw(r))
			v := &w.values[p*len(w.spec.Instruments)+i]
			if w.kind == "lognormal" {
				*v *= math.Exp(float64(x.Vol*shock) - float64(x.Vol*x.Vol/2))
			} else {
				*v += float64(x.Vol * shock)
			}
			if math.IsInf(*v, 0) || math.IsNaN(*v) {
				return nil, connectors.Invalid([]string{fmt.Sprintf(
					"instrument %q leaves the range of a Double on day %d: lower its vol or the number of days", x.ID, w.day)})
			}
			dst = append(dst, Row{
				RunID: runID, PathID: int64(p), InstrumentID: x.ID, Day: int64(w.day),
				Factor: f, Shock: shock, Value: *v, TsMs: nowMs,
			})
		}
	}
	return dst, nil
}

// draw returns noise of variance 1.
func (w *walk) draw(r *rand.Rand) float64 {
	if w.kind != "student_t" {
		return r.NormFloat64()
	}
	df := w.spec.Distribution.Df
	// t = z / sqrt(chi2/df) has variance df/(df-2).
	return r.NormFloat64() / math.Sqrt(2*gamma(r, df/2)/df) / math.Sqrt(df/(df-2))
}

// gamma draws from Gamma(shape, 1) for a shape of at least 1 (Marsaglia and Tsang).
func gamma(r *rand.Rand, shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		u := 1 - r.Float64() // in (0, 1]: its logarithm is finite
		if math.Log(u) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
