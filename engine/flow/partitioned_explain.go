package flow

import (
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/engine/plan"
)

// Measure makes all partitions estimate the time of their operators; see Flow.Measure. The clock is asked by several
// goroutines at once when the executor uses them.
func (f *Partitioned) Measure(clock func() int64) {
	for _, s := range f.stages {
		for _, t := range s.parts {
			t.flow.Measure(clock)
		}
	}
}

// Describe lists the operators of all stages with the sums of what their partitions have done, and between them an
// Exchange for each edge. The time is that of all partitions together, which run side by side.
func (f *Partitioned) Describe() plan.Description {
	var d plan.Description
	f.describe(&d, f.stages[len(f.stages)-1])
	return d
}

// describe appends a stage and everything that it reads, and returns the id of its root.
func (f *Partitioned) describe(d *plan.Description, s *stage) int {
	var scans []int
	var edges []*plan.Edge
	var sum plan.Description
	for p, t := range s.parts {
		var one plan.Description
		t.flow.describe(&one, t.flow.meter, t.flow.given, func(id int, n *plan.Scan) {
			if e := s.def.In[n.Input]; p == 0 && e.From != nil {
				scans, edges = append(scans, id), append(edges, e)
			}
		})
		if p == 0 {
			sum = one
			continue
		}
		for i := range sum {
			sum[i].Work.Add(*one[i].Work)
		}
	}
	at := len(*d)
	for _, o := range sum {
		o.ID += at
		for i := range o.Inputs {
			o.Inputs[i] += at
		}
		if len(s.parts) > 1 {
			o.Variant = strings.TrimPrefix(o.Variant+fmt.Sprintf(", %d partitions", len(s.parts)), ", ")
		}
		*d = append(*d, o)
	}
	for i, id := range scans {
		f.exchange(d, at+id, edges[i])
	}
	return at
}

// exchange makes the scan of an edge into the exchange that it is.
func (f *Partitioned) exchange(d *plan.Description, id int, e *plan.Edge) {
	o := &(*d)[id]
	o.Name, o.Detail = "Exchange", e.Mode.String()
	if len(e.Keys) > 0 {
		keys := make([]string, len(e.Keys))
		for i, k := range e.Keys {
			keys[i] = k.String()
		}
		o.Detail += " by (" + strings.Join(keys, ", ") + ")"
	}
	from := f.describe(d, f.stages[e.From.ID])
	(*d)[id].Inputs = append((*d)[id].Inputs, from)
}
