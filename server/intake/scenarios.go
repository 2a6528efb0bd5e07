package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/generator"
	"github.com/streamsforge/streamsforge/server/view"
)

// Scenarios runs the scenario generators.
type Scenarios struct{ in *Intake }

// scenarioBytes is where a message of scenario rows is closed.
const scenarioBytes = 128 << 10

// runTimeout bounds the appends of one run, which a client that goes away must not cut in the middle.
const runTimeout = time.Minute

// ProblemsError is a refusal with several problems.
type ProblemsError struct {
	refusal  *view.Error
	problems []string
}

func (e *ProblemsError) Error() string { return e.refusal.Error() }

// Problems lists them.
func (e *ProblemsError) Problems() []string { return e.problems }

// Unwrap makes the refusal found by its code.
func (e *ProblemsError) Unwrap() error { return e.refusal }

// Run makes the rows of a run, or of its next day, appends them to the source's stream, and returns them.
func (s *Scenarios) Run(ctx context.Context, env, source string, q view.ScenarioRequest) (view.ScenarioRun, error) {
	at, r, err := s.in.source(env, source)
	switch {
	case err != nil:
		return view.ScenarioRun{}, err
	case !isScenario(r):
		return view.ScenarioRun{}, view.Errorf(view.Conflict, "source '%s' is no scenario: it has kind %s and generatorProfile %s", source, r.Kind, r.GeneratorProfile)
	case !r.Enabled:
		return view.ScenarioRun{}, view.Errorf(view.Conflict, "source '%s' is disabled: enable it to run its scenario", source)
	}
	u, err := s.in.unit(ctx, at, r)
	if err != nil {
		return view.ScenarioRun{}, err
	}
	src, _, _ := u.parts()
	rows, err := u.runner.Run(request(q), func(rows []generator.Row) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), runTimeout)
		defer cancel()
		return appendRows(ctx, &sourceLog{u, src}, rows)
	})
	var invalid *connectors.InvalidError
	if errors.As(err, &invalid) {
		return view.ScenarioRun{}, &ProblemsError{view.Errorf(view.Invalid, "%s", invalid.Error()), invalid.Problems()}
	}
	if err != nil {
		return view.ScenarioRun{}, &view.Error{Code: view.Unavailable, Text: "the rows of the run could not all be stored", Err: err}
	}
	out := view.ScenarioRun{Accepted: len(rows), Rows: make([]view.ScenarioRow, len(rows))}
	for i, r := range rows {
		out.Rows[i] = view.ScenarioRow{
			RunID: r.RunID, PathID: r.PathID, InstrumentID: r.InstrumentID, Day: r.Day,
			Factor: r.Factor, Shock: r.Shock, Value: r.Value, Ts: r.TsMs,
		}
	}
	return out, nil
}

func request(q view.ScenarioRequest) generator.Request {
	r := generator.Request{RunID: q.RunID, Seed: q.Seed, Step: q.Step}
	if o := q.Overrides; o != nil {
		r.Paths, r.Days, r.Rho = o.Paths, o.Days, o.Rho
		if d := o.Distribution; d != nil {
			r.Distribution = &connectors.Distribution{Kind: d.Kind, Df: 5}
			if d.Df != nil {
				r.Distribution.Df = *d.Df
			}
		}
	}
	return r
}

// appendRows stores the rows of a run in order, several in one NDJSON message.
func appendRows(ctx context.Context, log connectors.Log, rows []generator.Row) error {
	var ms []connectors.Message
	var b []byte
	n := 0
	flush := func() {
		if len(b) > 0 {
			ms = append(ms, connectors.Message{Data: b, Rows: n, ContentType: connectors.ContentNDJSON})
			b, n = nil, 0
		}
	}
	for i := range rows {
		if len(b) > 0 {
			b = append(b, '\n')
		}
		n++
		if b = rows[i].AppendJSON(b); len(b) >= scenarioBytes {
			flush()
		}
	}
	flush()
	if len(ms) == 0 {
		return nil
	}
	if _, err := log.Append(ctx, ms); err != nil {
		return fmt.Errorf("append %d rows: %w", len(rows), err)
	}
	return nil
}
