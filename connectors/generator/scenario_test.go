package generator_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/connectorstest"
	"github.com/streamsforge/streamsforge/connectors/generator"
)

func spec() connectors.ScenarioSpec {
	return connectors.ScenarioSpec{
		Paths: 3, Days: 5, Rho: 0.4, Seed: 42, MaxBatchRows: 100_000, Distribution: connectors.Distribution{Kind: "normal", Df: 5},
		Instruments: []connectors.Instrument{
			{ID: "a", Base: 100, Vol: 2, Group: "tech"}, {ID: "b", Base: 50, Vol: 1, Group: "bank"},
			{ID: "c", Base: 10, Vol: 0.5, Group: "tech"}, {ID: "d", Base: 1, Vol: 0.1}, {ID: "e", Base: 1, Vol: 0.1},
		},
	}
}

func keep([]generator.Row) error { return nil }

func run(t *testing.T, s connectors.ScenarioSpec, q generator.Request) []generator.Row {
	t.Helper()
	rows, err := generator.NewRunner(s, connectorstest.NewClock()).Run(q, keep)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func encode(rows []generator.Row) string {
	var b []byte
	for i := range rows {
		b = append(rows[i].AppendJSON(b), '\n')
	}
	return string(b)
}

func TestScenarioFollowsTheModel(t *testing.T) {
	s := spec()
	rows := run(t, s, generator.Request{RunID: "r1"})
	if len(rows) != 3*5*5 {
		t.Fatalf("%d rows", len(rows))
	}
	last := map[string]float64{}
	i := 0
	for day := 1; day <= s.Days; day++ {
		for path := range s.Paths {
			byGroup := map[string]float64{}
			for _, x := range s.Instruments {
				r := rows[i]
				i++
				if r.RunID != "r1" || r.Day != int64(day) || r.PathID != int64(path) || r.InstrumentID != x.ID || r.TsMs != connectorstest.Start.UnixMilli() {
					t.Fatalf("row %d is %+v", i, r)
				}
				if f, ok := byGroup[x.Group]; ok && x.Group != "" && f != r.Factor {
					t.Fatalf("group %s has two factors on day %d", x.Group, day)
				}
				if x.Group != "" {
					byGroup[x.Group] = r.Factor
				}
				k := fmt.Sprint(path, x.ID)
				prev, ok := last[k]
				if !ok {
					prev = x.Base
				}
				if want := prev + x.Vol*r.Shock; math.Abs(r.Value-want) > 1e-12 {
					t.Fatalf("value %v, want %v", r.Value, want)
				}
				last[k] = r.Value
			}
		}
	}
	if rows[3].Factor == rows[4].Factor {
		t.Error("two blank groups share a factor")
	}
}

// TestScenarioGolden pins the draws: a change of the generator or of the order of draws breaks stored seeds.
func TestScenarioGolden(t *testing.T) {
	s := spec()
	s.Paths, s.Days, s.Instruments = 1, 1, s.Instruments[:2]
	const want = `{"run_id":"g","path_id":0,"instrument_id":"a","day":1,"factor":%s,"shock":%s,"value":%s,"_ts":1700000000000}`
	got := encode(run(t, s, generator.Request{RunID: "g"}))
	first, _, _ := strings.Cut(got, "\n")
	if golden := fmt.Sprintf(want, goldenFactor, goldenShock, goldenValue); first != golden {
		t.Errorf("first row is\n%s, want\n%s", first, golden)
	}
}

func TestSameSeedIsByteIdentical(t *testing.T) {
	for _, kind := range []string{"normal", "LogNormal", "student_t"} {
		s := spec()
		s.Distribution.Kind = kind
		a, b := encode(run(t, s, generator.Request{RunID: "r"})), encode(run(t, s, generator.Request{RunID: "r"}))
		seed := int64(43)
		other := encode(run(t, s, generator.Request{RunID: "r", Seed: &seed}))
		if a != b || a == other {
			t.Errorf("%s: same seed equal %v, other seed equal %v", kind, a == b, a == other)
		}
	}
}

func TestStepsAreTheFullRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spec()
		s.Paths = rapid.IntRange(1, 4).Draw(t, "paths")
		s.Days = rapid.IntRange(1, 6).Draw(t, "days")
		s.Rho = rapid.Float64Range(0, 1).Draw(t, "rho")
		s.Seed = rapid.Int64().Draw(t, "seed")
		s.Distribution.Kind = rapid.SampledFrom([]string{"normal", "lognormal", "student_t"}).Draw(t, "kind")
		r := generator.NewRunner(s, connectorstest.NewClock())
		full, err := r.Run(generator.Request{RunID: "x"}, keep)
		if err != nil {
			t.Fatal(err)
		}
		var steps []generator.Row
		for range s.Days + 2 {
			// Another run in between does not disturb this one.
			if _, err := r.Run(generator.Request{RunID: "y", Step: true}, keep); err != nil {
				t.Fatal(err)
			}
			rows, err := r.Run(generator.Request{RunID: "x", Step: true}, keep)
			if err != nil {
				t.Fatal(err)
			}
			if len(steps) == len(full) && (rows == nil || len(rows) != 0) {
				t.Fatalf("%d rows after the last day", len(rows))
			}
			steps = append(steps, rows...)
		}
		if encode(full) != encode(steps) {
			t.Fatal("the steps differ from the full run")
		}
	})
}

func TestStepCountsOnlyWhenItsRowsAreTaken(t *testing.T) {
	r := generator.NewRunner(spec(), connectorstest.NewClock())
	q := generator.Request{RunID: "x", Step: true}
	lost := errors.New("the log is gone")
	if _, err := r.Run(q, func([]generator.Row) error { return lost }); !errors.Is(err, lost) {
		t.Fatalf("err = %v", err)
	}
	rows, err := r.Run(q, keep)
	if err != nil || rows[0].Day != 1 {
		t.Errorf("after a failed step: day %d, %v", rows[0].Day, err)
	}
}

func TestNoiseHasVarianceOne(t *testing.T) {
	for _, c := range []struct {
		kind string
		df   float64
	}{{"normal", 5}, {"lognormal", 5}, {"student_t", 8}, {"student_t", 30}} {
		s := spec()
		s.Paths, s.Days, s.Distribution = 100, 100, connectors.Distribution{Kind: c.kind, Df: c.df}
		s.Instruments = []connectors.Instrument{{ID: "a", Base: 1, Vol: 0, Group: "g"}, {ID: "b", Base: 1, Vol: 0, Group: "g"}}
		var sum, sq, cross, n float64
		rows := run(t, s, generator.Request{RunID: "r"})
		for i := 0; i < len(rows); i += 2 {
			x, y := rows[i].Shock, rows[i+1].Shock
			sum, sq, cross, n = sum+x, sq+x*x, cross+x*y, n+1
		}
		if mean, v, cor := sum/n, sq/n, cross/n; math.Abs(mean) > 0.05 || math.Abs(v-1) > 0.1 || math.Abs(cor-s.Rho) > 0.1 {
			t.Errorf("%s df %v: mean %.3f, variance %.3f, correlation %.3f", c.kind, c.df, mean, v, cor)
		}
	}
}

func TestLognormalStaysPositiveAndKeepsItsMean(t *testing.T) {
	s := spec()
	s.Paths, s.Days, s.Distribution.Kind = 20_000, 1, "lognormal"
	s.Instruments = []connectors.Instrument{{ID: "a", Base: 100, Vol: 0.2}}
	sum := 0.0
	for _, r := range run(t, s, generator.Request{RunID: "r"}) {
		if r.Value <= 0 {
			t.Fatalf("value %v", r.Value)
		}
		sum += r.Value
	}
	if mean := sum / 20_000; math.Abs(mean-100) > 1 {
		t.Errorf("mean %v, want 100: exp(vol x shock - vol^2/2) has mean 1", mean)
	}
}

func TestScenarioReportsEveryProblem(t *testing.T) {
	zero, rho, kind := 0, 1.5, connectors.Distribution{Kind: "uniform"}
	cases := []struct {
		name   string
		change func(*connectors.ScenarioSpec)
		q      generator.Request
		want   []string
	}{
		{"three faults of a request", nil, generator.Request{Paths: &zero, Rho: &rho}, []string{"run_id is required", "paths is 0", "rho is 1.5"}},
		{"days and distribution", nil, generator.Request{RunID: "r", Days: &zero, Distribution: &kind}, []string{"days is 0", `"uniform"`}},
		{"ids", func(s *connectors.ScenarioSpec) { s.Instruments[0].ID, s.Instruments[1].ID = " ", "c" }, generator.Request{RunID: "r"}, []string{"blank id", `"c" is used twice`}},
		{"vol", func(s *connectors.ScenarioSpec) { s.Instruments[0].Vol = -1 }, generator.Request{RunID: "r"}, []string{`vol of instrument "a"`}},
		{"not a number", func(s *connectors.ScenarioSpec) { s.Rho, s.Instruments[0].Vol = math.NaN(), math.NaN() }, generator.Request{RunID: "r"}, []string{"rho", "vol"}},
		{"df", func(s *connectors.ScenarioSpec) { s.Distribution = connectors.Distribution{Kind: "student_t", Df: 2} }, generator.Request{RunID: "r"}, []string{"df is 2"}},
		{"base", func(s *connectors.ScenarioSpec) { s.Distribution.Kind, s.Instruments[3].Base = "lognormal", 0 }, generator.Request{RunID: "r"}, []string{`base of instrument "d"`}},
		{"rows", func(s *connectors.ScenarioSpec) { s.MaxBatchRows = 74 }, generator.Request{RunID: "r"}, []string{"75 rows", "74"}},
		{"rows that overflow", func(s *connectors.ScenarioSpec) { s.Paths, s.Days = math.MaxInt, math.MaxInt }, generator.Request{RunID: "r"}, []string{"more than maxBatchRows"}},
		{"source of instruments", func(s *connectors.ScenarioSpec) { s.InstrumentsSourceName = "x" }, generator.Request{RunID: "r"}, []string{"instrumentsSourceName"}},
		{"no instruments", func(s *connectors.ScenarioSpec) { s.Instruments = nil }, generator.Request{RunID: "r"}, []string{"at least one"}},
		{"bound of the bound", func(s *connectors.ScenarioSpec) { s.MaxBatchRows = 0 }, generator.Request{RunID: "r"}, []string{"maxBatchRows is 0"}},
		{"out of range", func(s *connectors.ScenarioSpec) {
			s.Instruments[0].Base, s.Instruments[0].Vol, s.Days = math.MaxFloat64, math.MaxFloat64, 50
		}, generator.Request{RunID: "r"}, []string{"leaves the range of a Double"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := spec()
			s.Instruments = slices.Clone(s.Instruments)
			if c.change != nil {
				c.change(&s)
			}
			emitted := false
			_, err := generator.NewRunner(s, connectorstest.NewClock()).Run(c.q, func([]generator.Row) error { emitted = true; return nil })
			var invalid *connectors.InvalidError
			if !errors.As(err, &invalid) || emitted {
				t.Fatalf("err = %v, emitted %v", err, emitted)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not mention %q", err, w)
				}
			}
		})
	}
}

func TestRowJSON(t *testing.T) {
	r := generator.Row{RunID: "a\"b\n", PathID: 1, InstrumentID: "x", Day: 2, Factor: 1e-9, Shock: -0.5, Value: 1e30, TsMs: 7}
	var back map[string]any
	if err := json.Unmarshal(r.AppendJSON(nil), &back); err != nil {
		t.Fatal(err)
	}
	if back["run_id"] != "a\"b\n" || back["factor"] != 1e-9 || back["value"] != 1e30 || back["_ts"] != 7.0 || len(back) != 8 {
		t.Errorf("row %v", back)
	}
}

const (
	goldenFactor = "-0.7440932055871485"
	goldenShock  = "0.39279899970608173"
	goldenValue  = "100.78559799941216"
)
