package engine

import (
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/engine/plan"
)

// Explanation is how a statement runs: the plan as the text says it, the rewrites, and the operators of a flow. It
// marshals to stable JSON; String is the same for people.
type Explanation struct {
	// Pipeline says that the result is a stream of rows, not a maintained table.
	Pipeline bool `json:"pipeline"`
	// Mode and Key are the changelog mode of the result.
	Mode string   `json:"mode"`
	Key  []string `json:"key"`
	// Time is the rules of event time of a pipeline; null for a table.
	Time *TimeRules `json:"time"`
	// Logical is the plan as analyzed, before any rewrite.
	Logical plan.Description `json:"logical"`
	// Rules are the rewrites that fired, in the order in which they are tried.
	Rules []FiredRule `json:"rules"`
	// Physical is the operators as a flow runs them. On a running entity they say what they have done.
	Physical plan.Description `json:"physical"`
	// Running says that the operators are those of a running entity.
	Running bool `json:"running"`
}

// TimeRules are the rules of event time of a pipeline, in milliseconds.
type TimeRules struct {
	// WatermarkLagMs is how far the watermark trails the newest row.
	WatermarkLagMs int64 `json:"watermarkLagMs"`
	// IdleMs is how long an input may be silent before it no longer holds the watermark back.
	IdleMs int64 `json:"idleMs"`
	// AllowedLatenessMs is how far behind the watermark a row may be and still count.
	AllowedLatenessMs int64 `json:"allowedLatenessMs"`
}

// FiredRule is a rewrite and how often it fired.
type FiredRule struct {
	Name  string `json:"name"`
	Why   string `json:"why"`
	Times int    `json:"times"`
}

// Describe explains a program; running is the operators of a flow that runs it, nil for none.
func (p *Program) Describe(running plan.Description) Explanation {
	c := p.Changelog()
	e := Explanation{
		Pipeline: p.query.Pipeline, Mode: c.Mode.String(), Key: append([]string{}, c.Key...),
		Logical: plan.Describe(p.result.Query.Root), Rules: []FiredRule{}, Physical: running, Running: running != nil,
	}
	_, fired := plan.OptimizeTrace(p.result.Query)
	for _, r := range plan.Rules() {
		if n := fired[r.Name]; n > 0 {
			e.Rules = append(e.Rules, FiredRule{Name: r.Name, Why: r.Why, Times: n})
		}
	}
	if n := fired[plan.PruneColumns]; n > 0 {
		e.Rules = append(e.Rules, FiredRule{Name: plan.PruneColumns, Why: "nothing reads the columns", Times: n})
	}
	if t := p.query.Time; p.query.Pipeline {
		e.Time = &TimeRules{WatermarkLagMs: t.WatermarkLag, IdleMs: t.Idle, AllowedLatenessMs: t.AllowedLateness}
	}
	if running == nil {
		e.Physical = p.NewFlow().Describe()
		for i := range e.Physical {
			e.Physical[i].Work = nil
		}
	}
	return e
}

// String prints the explanation as stable text.
func (e Explanation) String() string {
	var b strings.Builder
	b.WriteString("logical\n" + e.Logical.String())
	if len(e.Rules) > 0 {
		b.WriteString("rules\n")
	}
	for _, r := range e.Rules {
		b.WriteString("  " + r.Name + " x" + strconv.Itoa(r.Times) + ": " + r.Why + "\n")
	}
	if t := e.Time; t != nil {
		b.WriteString("time\n  watermark lag " + plan.FormatMillis(t.WatermarkLagMs) + ", idle after " + plan.FormatMillis(t.IdleMs) +
			", allowed lateness " + plan.FormatMillis(t.AllowedLatenessMs) + "\n")
	}
	b.WriteString("physical\n" + e.Physical.String())
	return b.String()
}
