package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/catalog/catalogtest"
	"github.com/streamsforge/streamsforge/server/view"
)

func TestSourceDefaults(t *testing.T) {
	s := open(t, func(o *catalog.Options) { o.Now = clockAt(1700000000000) })
	r := s.source(`{"name":"a","fields":[{"name":"x","type":"Long"}]}`)
	want := `{"name":"a","description":"","fields":[{"name":"x","type":"Long","children":null,"isArray":false}],` +
		`"generatorProfile":"generic","eventsPerSecond":5,"enabled":true,"tags":[],"metadata":{},"kind":"generator",` +
		`"connector":null,"ingest":null,"onCoercionFailure":"Null","scenario":null,"replay":null,"keyFields":null,` +
		`"revision":1,"schemaRevision":1,"createdBy":"ann","createdAtMs":1700000000000,"updatedBy":"ann","updatedAtMs":1700000000000,"environment":""}`
	if got := asJSON(t, r.Source); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	i := s.source(`{"name":"b","kind":"ingest","fields":[{"name":"x","type":"Long"}],"ingest":{"keys":null}}`)
	if got, want := asJSON(t, i.Ingest), `{"policy":"Reject","capacityRows":10000,"maxWaitMs":5000,"maxBatchRows":1000,"rejectUnknownFields":false,"dedupKeyField":null,"dedupWindow":0,"keys":[]}`; got != want {
		t.Errorf("ingest %s\nwant %s", got, want)
	}
	c := s.source(`{"name":"c","generatorProfile":"scenario","fields":[{"name":"x","type":"Long"}],"scenario":{"instruments":[{"id":"i","base":1,"vol":1}]},"replay":{}}`)
	if got, want := asJSON(t, c.Scenario), `{"paths":1,"instruments":[{"id":"i","base":1,"vol":1,"group":""}],"instrumentsSourceName":null,"distribution":{"kind":"normal","df":5},"rho":0,"days":1,"seed":0,"maxBatchRows":100000}`; got != want {
		t.Errorf("scenario %s\nwant %s", got, want)
	}
	if got, want := asJSON(t, c.Replay), `{"persist":true,"retainMs":0,"maxBytes":0}`; got != want {
		t.Errorf("replay %s\nwant %s", got, want)
	}
}

func TestServerOwnedMembersAreIgnored(t *testing.T) {
	s := open(t)
	r := s.source(`{"name":"a","fields":[{"name":"x","type":"Long"}],"revision":999,"schemaRevision":7,"createdBy":"eve","environment":"other","updatedBy":"eve","createdAtMs":1}`)
	if r.Revision != 1 || r.SchemaRevision != 1 || r.CreatedBy != "ann" || r.UpdatedBy != "ann" || r.Environment != "" || r.CreatedAtMs == 1 {
		t.Errorf("%+v", r.Source)
	}
	again, err := s.UpdateSource(t.Context(), env, "bob", "a", source(t, `{"name":"renamed","fields":[{"name":"x","type":"Long"}],"revision":999}`), true)
	if err != nil {
		t.Fatal(err)
	}
	// The name of the caller wins, and nothing else differs: no change, no new revision.
	if again.Name != "a" || again.Revision != 1 || again.UpdatedBy != "ann" {
		t.Errorf("%+v", again.Source)
	}
}

func TestSourceProblemsAreReportedTogether(t *testing.T) {
	s := open(t)
	create := func(text string) error {
		_, err := s.CreateSource(t.Context(), env, "ann", source(t, text))
		return err
	}
	refused(t, create(`{}`), view.Invalid, "source name is required", "; at least one field is required")
	refused(t, create(`{"name":"a.b","fields":[{"name":"x","type":"Long"}]}`), view.Invalid, "must not contain '.'")
	refused(t, create(`{"name":"a\u0000","fields":[{"name":"x","type":"Long"}]}`), view.Invalid, "control characters")
	refused(t, create(`{"name":"`+strings.Repeat("n", 65)+`","fields":[{"name":"x","type":"Long"}]}`), view.Invalid, "65 bytes")
	refused(t, create(`{"name":"a","fields":[{"name":"x","type":"Long"},{"name":"X","type":"Long"},{"name":" ","type":"Long"}]}`), view.Invalid, "declared twice", "fields[2]: field name is required")
	refused(t, create(`{"name":"a","fields":[{"name":"x","type":"Long","children":[{"name":"y","type":"Long"}]}]}`), view.Invalid, "cannot have children")
	refused(t, create(`{"name":"a","fields":[{"name":"x","type":"Json","children":[{"name":"y","type":"Long"},{"name":"y","type":"Long"}]}]}`), view.Invalid, "fields[0].children[1]")
	refused(t, create(`{"name":"a","kind":"nope","fields":[{"name":"x","type":"Long"}]}`), view.Invalid, `"nope"`, "generator", "postgres-cdc")
	refused(t, create(`{"name":"a","kind":"postgres","fields":[{"name":"x","type":"Long"}],"connector":{"db":{}}}`), view.Invalid, `"postgres" is not part of this build`)
	refused(t, create(`{"name":"a","eventsPerSecond":0,"fields":[{"name":"x","type":"Long"}]}`), view.Invalid, "eventsPerSecond")
	refused(t, create(`{"name":"a","eventsPerSecond":-1,"fields":[{"name":"x","type":"Long"}]}`), view.Invalid, "eventsPerSecond")
	refused(t, create(`{"name":"a","kind":"ingest","fields":[{"name":"x","type":"Long"}]}`), view.Invalid, "needs the ingest section")
	refused(t, create(`{"name":"a","fields":[{"name":"x","type":"Long"}],"ingest":{}}`), view.Invalid, "ingest section")
	refused(t, create(`{"name":"a","kind":"ingest","fields":[{"name":"x","type":"Long"}],"ingest":{"capacityRows":0,"maxBatchRows":-1,"maxWaitMs":30001}}`), view.Invalid, "capacityRows", "maxBatchRows", "maxWaitMs")
	refused(t, create(`{"name":"a","onCoercionFailure":"Ignore","fields":[{"name":"x","type":"Long"}]}`), view.Invalid, "onCoercionFailure 'Ignore'")
	refused(t, create(`{"name":"a","keyFields":["y"],"fields":[{"name":"x","type":"Long"}]}`), view.Invalid, "keyFields names 'y'")
	refused(t, create(`{"name":"a","keyFields":["x","X"],"fields":[{"name":"x","type":"Long"}]}`), view.Invalid, "keyFields names 'X' twice")
	refused(t, create(`{"name":"a","keyFields":["x"],"fields":[{"name":"x","type":"Long","isArray":true}]}`), view.Invalid, "keyFields names 'x', which is Long[]")
	refused(t, create(`{"name":"a","keyFields":["x"],"fields":[{"name":"x","type":"Long"},{"name":"_retract","type":"String"}]}`), view.Invalid, "field '_retract' must be a Bool")
	refused(t, create(`{"name":"a","replay":{"maxBytes":-1},"fields":[{"name":"x","type":"Long"}]}`), view.Invalid, "replay")
	if n := len(s.snapshot().Sources()); n != 0 {
		t.Errorf("%d refused sources are stored", n)
	}
}

func TestOneNamespaceOfNames(t *testing.T) {
	s := open(t)
	s.source(trades)
	s.table("t", "SELECT symbol FROM trades")
	p := s.pipeline("p", "SELECT symbol FROM trades")
	_, err := s.CreateSource(t.Context(), env, "ann", source(t, trades))
	refused(t, err, view.Invalid, "source name already exists")
	for name, kind := range map[string]string{"t": "a table", "p": "a pipeline"} {
		_, err := s.CreateSource(t.Context(), env, "ann", source(t, strings.Replace(trades, `"trades"`, `"`+name+`"`, 1)))
		refused(t, err, view.Conflict, "Name '"+name+"' is already used by "+kind)
	}
	for name, owner := range map[string]string{"trades": "a source", "t": "another table", "p": "a pipeline"} {
		_, err := s.CreateTable(t.Context(), env, "ann", table(t, `{"name":"`+name+`","sql":"SELECT 1"}`))
		refused(t, err, view.Conflict, "Name '"+name+"' is already used by "+owner)
	}
	for name, owner := range map[string]string{"trades": "a source", "t": "a table", "p": "another pipeline"} {
		_, err := s.CreatePipeline(t.Context(), env, "ann", pipeline(t, `{"name":"`+name+`","sql":"SELECT 1"}`))
		refused(t, err, view.Conflict, "Name '"+name+"' is already used by "+owner)
	}
	_, err = s.UpdatePipeline(t.Context(), env, "ann", p.ID, pipeline(t, `{"name":"trades","sql":"SELECT symbol FROM trades"}`))
	refused(t, err, view.Conflict, "already used by a source")
}

func TestRevisionsFollowWhatChanged(t *testing.T) {
	s := open(t)
	s.source(trades)
	update := func(text string) *catalog.SourceRecord {
		r, err := s.UpdateSource(t.Context(), env, "bob", "trades", source(t, text), true)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	steps := []struct {
		name                      string
		text                      string
		revision, schema, layouts int64
	}{
		{"the same", trades, 1, 1, 1},
		{"a rate", strings.Replace(trades, `"fields"`, `"eventsPerSecond":9,"fields"`, 1), 2, 1, 1},
		{"a tag", strings.Replace(trades, `"fields"`, `"eventsPerSecond":9,"tags":["x"],"fields"`, 1), 3, 1, 1},
		{"a policy: rows are read another way, their shape is the same", strings.Replace(trades, `"fields"`, `"onCoercionFailure":"DropRow","fields"`, 1), 4, 1, 2},
		{"a field", strings.Replace(trades, `]}`, `,{"name":"venue","type":"String"}]}`, 1), 5, 2, 3},
		{"a type", strings.Replace(trades, `"qty","type":"Long"`, `"qty","type":"String"`, 1), 6, 3, 4},
	}
	for _, st := range steps {
		r := update(st.text)
		if r.Revision != st.revision || r.SchemaRevision != st.schema || int64(len(r.Layouts)) != st.layouts {
			t.Errorf("%s: revision %d, schemaRevision %d, %d layouts; want %d, %d, %d", st.name, r.Revision, r.SchemaRevision, len(r.Layouts), st.revision, st.schema, st.layouts)
		}
	}
	r := update(steps[len(steps)-1].text)
	if r.CreatedBy != "ann" || r.UpdatedBy != "bob" {
		t.Errorf("created by %s, updated by %s", r.CreatedBy, r.UpdatedBy)
	}
	if l := r.Layout(); l.Version != 4 || l.SchemaRevision != 3 || l.FromSeq != 0 || l.Fields[2].Type.String() != "String" {
		t.Errorf("newest layout %+v", l)
	}
	if l := r.Layouts[1]; l.OnCoercionFailure != "DropRow" || l.SchemaRevision != 1 {
		t.Errorf("second layout %+v", l)
	}
}

func TestLayoutsBeginWhereTheClockSays(t *testing.T) {
	s := open(t)
	s.source(trades)
	for _, n := range []string{"a", "b"} {
		if _, err := s.UpdateSource(t.Context(), env, "ann", "trades", source(t, strings.Replace(trades, `]}`, `,{"name":"`+n+`","type":"String"}]}`, 1)), true); err != nil {
			t.Fatal(err)
		}
	}
	for v, from := range map[int64]uint64{2: 11, 3: 21} {
		if err := s.SetLayoutStart(t.Context(), env, "trades", v, from); err != nil {
			t.Fatal(err)
		}
	}
	starts := func(st *catalog.Store) (out []uint64) {
		sn, _ := st.Snapshot(env)
		r, _ := sn.Source("trades")
		for _, l := range r.Layouts {
			out = append(out, l.FromSeq)
		}
		return out
	}
	if got := starts(s.Store); !slices.Equal(got, []uint64{1, 11, 21}) {
		t.Fatalf("layouts begin at %v", got)
	}
	refused(t, s.SetLayoutStart(t.Context(), env, "trades", 9, 1), view.Missing, "layout 9")
	// Position 11 is the oldest that is retained: nothing before it can be asked for.
	if err := s.PruneLayouts(t.Context(), env, "trades", 11); err != nil {
		t.Fatal(err)
	}
	if got := starts(catalogtest.Open(t, s.bucket)); !slices.Equal(got, []uint64{11, 21}) {
		t.Errorf("after pruning and a restart they begin at %v", got)
	}
	if err := s.PruneLayouts(t.Context(), env, "trades", 1000); err != nil {
		t.Fatal(err)
	}
	if got := starts(s.Store); !slices.Equal(got, []uint64{21}) {
		t.Errorf("the newest layout does not stay alone: %v", got)
	}
}

func TestBreakingChanges(t *testing.T) {
	s := open(t)
	s.source(`{"name":"a","fields":[{"name":"qty","type":"Double"},{"name":"gone","type":"Long"},{"name":"p","type":"Json","children":[{"name":"u","type":"Long"}]},{"name":"l","type":"Long"}]}`)
	next := source(t, `{"name":"a","fields":[{"name":"qty","type":"String"},{"name":"p","type":"Json","children":[{"name":"u","type":"String"}]},{"name":"l","type":"Long","isArray":true},{"name":"added","type":"Long"}]}`)
	_, err := s.UpdateSource(t.Context(), env, "ann", "a", next, false)
	var breaking *catalog.BreakingError
	if !errors.As(err, &breaking) || breaking.Error() != "source 'a': schema change is breaking" {
		t.Fatalf("got %v", err)
	}
	want := []string{"field 'qty' changed type: Double -> String", "field 'gone' was removed", "field 'p.u' changed type: Long -> String", "field 'l' changed type: Long -> Long[]"}
	if !slices.Equal(breaking.Reasons, want) {
		t.Errorf("reasons %q", breaking.Reasons)
	}
	if r, _ := s.snapshot().Source("a"); r.Revision != 1 {
		t.Error("a refused change is stored")
	}
	if _, err := s.UpdateSource(t.Context(), env, "ann", "a", next, true); err != nil {
		t.Errorf("with allowBreaking: %v", err)
	}
}

func TestUnknownSource(t *testing.T) {
	s := open(t)
	_, err := s.UpdateSource(t.Context(), env, "ann", "nope", source(t, trades), true)
	if !errors.Is(err, view.ErrUnknown) {
		t.Errorf("update: %v", err)
	}
	if err := s.DeleteSource(t.Context(), env, "nope"); !errors.Is(err, view.ErrUnknown) {
		t.Errorf("delete: %v", err)
	}
	_, err = s.CreateSource(t.Context(), "staging", "ann", source(t, trades))
	refused(t, err, view.Missing, "environment 'staging' does not exist")
}

func TestIngestKeys(t *testing.T) {
	now := int64(1_700_000_000_000)
	s := open(t, func(o *catalog.Options) { o.Now = func() clockTime { return clockAt(now)() } })
	s.source(`{"name":"in","kind":"ingest","fields":[{"name":"x","type":"Long"}],"ingest":{}}`)
	s.source(trades)
	k, secret, err := s.AddIngestKey(t.Context(), env, "ann", "in", "robot")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(secret, "sfk_") || len(secret) != 68 || len(k.ID) != 32 {
		t.Errorf("key %+v with a secret of %d characters", k, len(secret))
	}
	if stored := string(bucketText(t, s.bucket)); strings.Contains(stored, secret) {
		t.Error("the secret is stored")
	}
	r, _ := s.snapshot().Source("in")
	if m := r.Source.Masked().Ingest.Keys[0]; m.Hash != "***" || m.Salt != "***" || r.Ingest.Keys[0].Hash == "***" {
		t.Errorf("masked %+v of %+v", m, r.Ingest.Keys[0])
	}
	if !s.MatchIngestKey(t.Context(), env, "in", secret) {
		t.Error("the key does not open its source")
	}
	for _, c := range [][2]string{{"in", "sfk_wrong"}, {"in", ""}, {"trades", secret}, {"nope", secret}, {"in", secret + "0"}} {
		if s.MatchIngestKey(t.Context(), env, c[0], c[1]) {
			t.Errorf("%.10q opens %s", c[1], c[0])
		}
	}
	keys, err := s.IngestKeys(env, "in")
	if err != nil || len(keys) != 1 || keys[0].LastUsedMs != now {
		t.Errorf("keys %+v %v", keys, err)
	}
	revision := r.Revision
	now += 30_000
	s.MatchIngestKey(t.Context(), env, "in", secret)
	if keys, _ := s.IngestKeys(env, "in"); keys[0].LastUsedMs != now {
		t.Errorf("a use within the minute is not shown: %+v", keys)
	}
	if r, _ := s.snapshot().Source("in"); r.Revision != revision {
		t.Error("a use is an edit")
	}
	// GET and PUT back keeps the key; an invented one is refused.
	masked := r.Source.Masked()
	masked.Description = "changed"
	if _, err := s.UpdateSource(t.Context(), env, "ann", "in", masked, true); err != nil {
		t.Fatal(err)
	}
	if !s.MatchIngestKey(t.Context(), env, "in", secret) {
		t.Error("writing *** back lost the key")
	}
	masked.Ingest.Keys = append(masked.Ingest.Keys, catalog.IngestKey{ID: "mine", Hash: "aGk=", Salt: "aGk="})
	_, err = s.UpdateSource(t.Context(), env, "ann", "in", masked, true)
	refused(t, err, view.Invalid, "no key 'mine' is stored")
	_, _, err = s.AddIngestKey(t.Context(), env, "ann", "trades", "x")
	refused(t, err, view.Conflict, "of kind generator")
	if err := s.DeleteIngestKey(t.Context(), env, "ann", "in", "nope"); !errors.Is(err, view.ErrUnknown) {
		t.Errorf("delete an unknown key: %v", err)
	}
	if err := s.DeleteIngestKey(t.Context(), env, "ann", "in", k.ID); err != nil {
		t.Fatal(err)
	}
	if s.MatchIngestKey(t.Context(), env, "in", secret) {
		t.Error("a deleted key still opens the source")
	}
}
