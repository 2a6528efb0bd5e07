package generator

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/streamsforge/streamsforge/connectors"
)

// Bounds of a tick and of what one read brings.
const (
	minTick = time.Millisecond
	maxTick = 10 * time.Second
	// maxRate bounds eventsPerSecond.
	maxRate = 1_000_000
	// messageBytes is where a message of several rows is closed: large enough to be cheap a row, small enough to
	// leave the log responsive.
	messageBytes = 128 << 10
	// catchUp bounds what is made up for after a stall: the rows of this time, not of the whole stall.
	catchUp = time.Second
)

func init() {
	connectors.Register(connectors.Kind{
		Name:       "generator",
		Descriptor: connectors.Descriptor{Label: "Generator", Help: connectors.Str("Synthetic rows of a named profile.")},
		BuiltIn:    true,
		Validate:   validate,
		New: func(d connectors.Definition, e connectors.Env) (connectors.Source, error) {
			return New(d, e)
		},
	})
}

func validate(d connectors.Definition) []string {
	var problems []string
	if !slices.Contains(Profiles(), d.Profile) {
		problems = append(problems, fmt.Sprintf("unknown generatorProfile %q: expected one of %s", d.Profile, strings.Join(Profiles(), ", ")))
	}
	if r := d.EventsPerSecond; math.IsNaN(r) || r < 0 || r > maxRate {
		problems = append(problems, fmt.Sprintf("eventsPerSecond is %v: expected 0..%d", r, maxRate))
	}
	return problems
}

// Source paces the rows of a profile. A scenario's Source never has rows of its own.
type Source struct {
	env     connectors.Env
	rows    *Rows // nil for a scenario
	tick    time.Duration
	perTick float64

	start   time.Time
	emitted int64
	buf     []byte
}

var (
	_ connectors.Source     = (*Source)(nil)
	_ connectors.Subscriber = (*Source)(nil)
)

// New makes the source of a valid definition.
func New(d connectors.Definition, e connectors.Env) (*Source, error) {
	s := &Source{env: e}
	if d.Profile == Scenario {
		return s, nil
	}
	rows, err := NewRows(d.Profile, d.Fields, e.Rand)
	if err != nil {
		return nil, err
	}
	s.rows = rows
	s.tick, s.perTick = pace(d.EventsPerSecond)
	return s, nil
}

// pace returns the tick of a rate and the rows that each tick owes: one, or the share of a millisecond for rates that
// the shortest tick cannot reach with single rows.
func pace(perSecond float64) (tick time.Duration, rows float64) {
	if perSecond*maxTick.Seconds() <= 1 {
		return maxTick, 1
	}
	if perSecond > float64(time.Second/minTick) {
		return minTick, perSecond * minTick.Seconds()
	}
	return time.Duration(float64(time.Second) / perSecond), 1
}

// Connected is true: a generator has nothing to reach.
func (s *Source) Connected() bool { return true }

// Open starts the pace. A generator has no cursor.
func (s *Source) Open(context.Context, string) error {
	s.start, s.emitted = s.env.Clock.Now(), 0
	return nil
}

// Read waits for the next tick that owes rows.
func (s *Source) Read(ctx context.Context) (connectors.Read, error) {
	if s.rows == nil {
		<-ctx.Done()
		return connectors.Read{}, ctx.Err()
	}
	for {
		elapsed := s.env.Clock.Now().Sub(s.start)
		if due := s.due(elapsed); due > 0 {
			return connectors.Read{Messages: s.make(due)}, nil
		}
		if err := s.env.Clock.Wait(ctx, s.start.Add((elapsed/s.tick+1)*s.tick)); err != nil {
			return connectors.Read{}, err
		}
	}
}

// due returns the rows owed. After a stall longer than catchUp the pace starts again from now, so that a machine that
// was asleep does not pour out the rows of a night.
func (s *Source) due(elapsed time.Duration) int64 {
	ticks := elapsed / s.tick
	due := int64(float64(ticks)*s.perTick) - s.emitted
	limit := max(1, int64(s.perTick*float64(catchUp/s.tick)))
	if due > limit {
		s.start = s.start.Add(ticks * s.tick)
		s.emitted, due = -limit, limit
	}
	return due
}

// make builds messages of the rows owed; the memory is good until the next read.
func (s *Source) make(n int64) []connectors.Message {
	now := s.env.Clock.Now().UnixMilli()
	s.emitted += n
	s.buf = s.buf[:0]
	var cuts []int // ends of messages in buf
	var counts []int
	from, rows := 0, 0
	for range n {
		if rows > 0 {
			s.buf = append(s.buf, '\n')
		}
		s.buf = s.rows.Append(s.buf, now)
		rows++
		if len(s.buf)-from >= messageBytes {
			cuts, counts = append(cuts, len(s.buf)), append(counts, rows)
			from, rows = len(s.buf), 0
		}
	}
	if rows > 0 {
		cuts, counts = append(cuts, len(s.buf)), append(counts, rows)
	}
	out := make([]connectors.Message, len(cuts))
	from = 0
	for i, end := range cuts {
		out[i] = connectors.Message{Data: s.buf[from:end:end], Rows: counts[i], ContentType: connectors.ContentNDJSON}
		if counts[i] == 1 {
			out[i].ContentType = connectors.ContentJSON
		}
		from = end
	}
	return out
}

// Close has nothing to release.
func (s *Source) Close(context.Context) error { return nil }
