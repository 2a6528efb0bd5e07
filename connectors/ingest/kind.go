package ingest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/connectors"
)

func init() {
	connectors.Register(connectors.Kind{
		Name:       "ingest",
		Descriptor: connectors.Descriptor{Label: "Push ingest", Help: connectors.Str("Rows that clients push over HTTP.")},
		BuiltIn:    true,
		Validate:   validate,
	})
}

// maxCapacityRows and maxWindow bound what one source may hold in memory.
const (
	maxCapacityRows = 10_000_000
	maxWindow       = 10_000_000
)

func validate(d connectors.Definition) []string {
	c := d.Ingest
	if c == nil {
		return []string{"kind ingest needs the ingest section"}
	}
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if !slices.Contains(connectors.Policies(), c.Policy) {
		add("ingest.policy %q is unknown: expected one of %s", c.Policy, policyNames())
	}
	if c.CapacityRows < 1 || c.CapacityRows > maxCapacityRows {
		add("ingest.capacityRows is %d: it must be within 1..%d", c.CapacityRows, maxCapacityRows)
	}
	if c.MaxBatchRows < 1 || c.MaxBatchRows > maxCapacityRows {
		add("ingest.maxBatchRows is %d: it must be within 1..%d", c.MaxBatchRows, maxCapacityRows)
	}
	if c.MaxWaitMs < 1 || c.MaxWaitMs > connectors.MaxWaitMsCap {
		add("ingest.maxWaitMs is %d: it must be within 1..%d", c.MaxWaitMs, connectors.MaxWaitMsCap)
	}
	if c.DedupWindow < 0 || c.DedupWindow > maxWindow {
		add("ingest.dedupWindow is %d: it must be within 0..%d", c.DedupWindow, maxWindow)
	}
	if c.DedupKeyField != "" {
		if _, ok := d.Fields.Find(c.DedupKeyField); !ok {
			add("ingest.dedupKeyField %q is not a declared field: expected one of %s", c.DedupKeyField, strings.Join(d.Fields.Names(), ", "))
		}
	}
	return out
}

func policyNames() string {
	var names []string
	for _, p := range connectors.Policies() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}
