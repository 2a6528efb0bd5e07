package catalog

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/streamsforge/streamsforge/connectors"
)

// Snapshot is the catalog of one environment at one moment. It is immutable.
type Snapshot struct {
	Env string
	// Version grows with every write.
	Version uint64
	counter uint64 // KV revision of the stored version

	sources   map[string]*SourceRecord
	pipelines map[string]*PipelineRecord // by id
	tables    map[string]*TableRecord    // by id

	sourceList   []*SourceRecord // by name
	pipelineList []*PipelineRecord
	tableList    []*TableRecord

	pipelineNames map[string][]*PipelineRecord
	tableNames    map[string][]*TableRecord
}

func newSnapshot(env string) *Snapshot {
	return &Snapshot{
		Env: env, sources: map[string]*SourceRecord{}, pipelines: map[string]*PipelineRecord{}, tables: map[string]*TableRecord{},
	}
}

// index builds the lists and name maps; a snapshot is published only after it.
func (sn *Snapshot) index() *Snapshot {
	sn.sourceList, sn.pipelineList, sn.tableList = nil, nil, nil
	sn.pipelineNames, sn.tableNames = map[string][]*PipelineRecord{}, map[string][]*TableRecord{}
	for _, r := range sn.sources {
		sn.sourceList = append(sn.sourceList, r)
	}
	for _, r := range sn.pipelines {
		sn.pipelineList = append(sn.pipelineList, r)
	}
	for _, r := range sn.tables {
		sn.tableList = append(sn.tableList, r)
	}
	slices.SortFunc(sn.sourceList, func(a, b *SourceRecord) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(sn.pipelineList, func(a, b *PipelineRecord) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(sn.tableList, func(a, b *TableRecord) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	for _, r := range sn.pipelineList {
		sn.pipelineNames[r.Name] = append(sn.pipelineNames[r.Name], r)
	}
	for _, r := range sn.tableList {
		sn.tableNames[r.Name] = append(sn.tableNames[r.Name], r)
	}
	return sn
}

// Sources lists the sources by name. The caller does not change the list.
func (sn *Snapshot) Sources() []*SourceRecord { return sn.sourceList }

// Pipelines lists the pipelines by name, then id. The caller does not change the list.
func (sn *Snapshot) Pipelines() []*PipelineRecord { return sn.pipelineList }

// Tables lists the tables by name, then id. The caller does not change the list.
func (sn *Snapshot) Tables() []*TableRecord { return sn.tableList }

// Source finds a source by its exact name.
func (sn *Snapshot) Source(name string) (*SourceRecord, bool) {
	r, ok := sn.sources[name]
	return r, ok
}

// Pipeline finds a pipeline by id.
func (sn *Snapshot) Pipeline(id string) (*PipelineRecord, bool) {
	r, ok := sn.pipelines[id]
	return r, ok
}

// Table finds a table by id.
func (sn *Snapshot) Table(id string) (*TableRecord, bool) {
	r, ok := sn.tables[id]
	return r, ok
}

// TableNamed finds a table by its exact name; of several with one name, the first by id.
func (sn *Snapshot) TableNamed(name string) (*TableRecord, bool) {
	if l := sn.tableNames[name]; len(l) > 0 {
		return l[0], true
	}
	return nil, false
}

// PipelinesFor resolves a key as read routes do: an id match wins, else every pipeline of that exact name.
func (sn *Snapshot) PipelinesFor(key string) []*PipelineRecord {
	if r, ok := sn.pipelines[key]; ok {
		return []*PipelineRecord{r}
	}
	return sn.pipelineNames[key]
}

// TablesFor resolves a key as read routes do: an id match wins, else every table of that exact name.
func (sn *Snapshot) TablesFor(key string) []*TableRecord {
	if r, ok := sn.tables[key]; ok {
		return []*TableRecord{r}
	}
	return sn.tableNames[key]
}

// Warnings are texts about definitions that were accepted before a rule existed or that this build cannot run; they
// hold counts, no names, because anyone may read them.
func (sn *Snapshot) Warnings() []string {
	out := []string{}
	duplicates, unknown := 0, 0
	for _, l := range sn.pipelineNames {
		if len(l) > 1 {
			duplicates++
		}
	}
	for _, r := range sn.sourceList {
		if _, err := connectors.Lookup(r.Kind); err != nil {
			unknown++
		}
	}
	if duplicates > 0 {
		out = append(out, fmt.Sprintf("%d pipeline name(s) are used by more than one pipeline; address those by id", duplicates))
	}
	if unknown > 0 {
		out = append(out, fmt.Sprintf("%d source(s) have a kind that is not part of this build and are not started", unknown))
	}
	return out
}
