package catalog_test

import (
	"slices"
	"testing"

	"github.com/streamsforge/streamsforge/server/catalog"
)

// TestPlanOfPartitions holds the physical plan of a table in partitions. TBL-049.
func TestPlanOfPartitions(t *testing.T) {
	s := open(t)
	s.source(trades)
	table := func(name, sql string, parallelism int) *catalog.TableRecord {
		d := catalog.NewTable()
		d.Name, d.SQL, d.Parallelism = name, sql, parallelism
		r, err := s.CreateTable(t.Context(), env, "ann", d)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := table("joined", "SELECT a.symbol, b.total FROM trades a JOIN (SELECT symbol, SUM(qty) AS total FROM trades GROUP BY symbol) b ON a.symbol = b.symbol WHERE a.qty > (SELECT AVG(qty) FROM trades)", 4)
	p := s.TablePlan(s.snapshot(), r)
	if !p.Physical || p.Parallelism != 4 || p.UnavailableReason != nil {
		t.Fatalf("physical %v, parallelism %d, reason %v", p.Physical, p.Parallelism, p.UnavailableReason)
	}
	var kinds, modes []string
	edges := map[int]bool{}
	for _, e := range p.Edges {
		edges[e.EdgeID] = true
		modes = append(modes, e.Mode)
		if (e.FromStageID < 0) != (len(e.ExternalInputNames) == 1) || e.FromStageID >= e.ToStageID || (e.Mode == "HashPartition") != (len(e.ArrangeKeyFields) == 1) {
			t.Errorf("edge %+v", e)
		}
	}
	for i, st := range p.Stages {
		kinds = append(kinds, st.Kind)
		if st.StageID != i || st.Alias == "" || len(st.InEdges) == 0 {
			t.Errorf("stage %+v", st)
		}
		for _, e := range st.InEdges {
			if !edges[e.EdgeID] || e.Role == "" {
				t.Errorf("stage %d has no edge %+v", i, e)
			}
		}
	}
	for _, want := range []string{"Ingest", "Reduce", "Join"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("no stage %s among %v", want, kinds)
		}
	}
	for _, want := range []string{"Local", "HashPartition", "Broadcast", "Gather"} {
		if !slices.Contains(modes, want) {
			t.Errorf("no edge %s among %v", want, modes)
		}
	}
	one := s.TablePlan(s.snapshot(), table("one", "SELECT symbol FROM trades", 1))
	if one.Physical || len(one.Stages)+len(one.Edges) > 0 || one.UnavailableReason == nil {
		t.Errorf("a table with one partition: %+v", one)
	}
}
