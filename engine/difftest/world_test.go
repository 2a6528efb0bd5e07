package difftest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// row is one row of an input, with the number by which PostgreSQL knows it.
type row struct {
	id, ts int64
	values []types.Value
	marked bool
	weight int64
	// replaces is the number of the row that a change of a keyed source takes the place of, 0 for none.
	replaces int64
}

// step is the changes of one epoch by relation.
type step map[string][]row

// catalog holds the relations of a world.
type catalog []engine.Relation

func (c catalog) Relations(name string) (out []engine.Relation) {
	for _, r := range c {
		if r.Name == name {
			out = append(out, r)
		}
	}
	return out
}

func (c catalog) Names() (out []string) {
	for _, r := range c {
		out = append(out, r.Name)
	}
	return out
}

// query is one statement under test: the flow as written, a flow that takes the same rows in other pieces and is
// restored from snapshots now and then, and the folded output of each.
type query struct {
	sql, postgres, name string
	program             *engine.Program
	flows               [2]flow.Runner
	parts               [2]int // partitions of the flows, 0 and 1 are one
	folded              [2]map[string]int64
}

func newQuery(sql string, cat engine.Catalog) (*query, []engine.Diagnostic) {
	p, problems := engine.Compile(sql, cat, engine.TableMode, engine.Options{})
	if p == nil {
		return nil, problems
	}
	q := &query{sql: sql, program: p}
	for i := range q.flows {
		if i == 1 {
			// Half of the statements run in partitions as well; the text decides, so that a seed is repeated exactly.
			h := fnv.New32a()
			_, _ = h.Write([]byte(sql))
			q.parts[i] = max(0, int(h.Sum32()%32)-15)
		}
		q.flows[i] = q.start(i)
		q.folded[i] = map[string]int64{}
	}
	return q, nil
}

// start makes an empty flow, in partitions when it has several.
func (q *query) start(which int) flow.Runner {
	if n := q.parts[which]; n > 1 {
		f, err := q.program.NewPartitioned(n, flow.Sequential)
		if err != nil {
			panic(fmt.Sprintf("BUG: %s in %d partitions: %v", q.sql, n, err))
		}
		return f
	}
	return q.program.NewFlow()
}

// push gives a flow rows of every input it has.
func (q *query) push(which int, cat catalog, s step, derived map[string]*zset.Batch) {
	for i, in := range q.program.Inputs() {
		if b := derived[in.Name]; b != nil {
			q.flows[which].Push(i, project(b, cat.Relations(in.Name)[0].Schema, in.Columns))
			continue
		}
		if rows := s[in.Name]; len(rows) > 0 {
			q.flows[which].Push(i, batchOf(cat.Relations(in.Name)[0].Schema, in.Columns, rows))
		}
	}
}

// project takes the columns that a program wants of a table's delta.
func project(b *zset.Batch, schema, want types.Schema) *zset.Batch {
	out := &zset.Batch{N: b.N, Weight: b.Weight}
	for _, f := range want {
		i, ok := schema.Find(f.Name)
		if !ok { // the hidden event time
			i = len(schema)
		}
		out.Cols = append(out.Cols, b.Cols[i])
	}
	return out
}

func batchOf(schema, want types.Schema, rows []row) *zset.Batch {
	kinds := make([]types.Kind, len(want))
	for i, f := range want {
		kinds[i] = f.Stored()
	}
	b := zset.NewBuilder(kinds)
	for _, r := range rows {
		for c, f := range want {
			i, declared := schema.Find(f.Name)
			switch {
			case f.Name == types.RetractColumn:
				b.Bool(c, r.marked)
			case declared:
				b.Value(c, r.values[i])
			case f.Name == types.TsColumn:
				b.Long(c, r.ts)
			default:
				panic("no column " + f.Name)
			}
		}
		b.EndRow(r.weight)
	}
	return b.Build()
}

// end ends an epoch, folds what came out and returns it.
func (q *query) end(which int, epochMs int64) *zset.Batch {
	f := q.flows[which]
	f.Advance(epochMs)
	d := f.Flush().Delta
	if d == nil {
		return nil
	}
	var key []byte
	visible := len(q.program.Output())
	for i := range d.N {
		key = key[:0]
		for c := range visible {
			key = appendCell(key, d.Cols[c].Value(i))
		}
		n := q.folded[which][string(key)] + d.W(i)
		if n == 0 {
			delete(q.folded[which], string(key))
		} else {
			q.folded[which][string(key)] = n
		}
	}
	return d
}

// restart replaces a flow by one that is restored from its snapshot.
func (q *query) restart(which int) error {
	snapshot := q.flows[which].Snapshot(nil)
	q.flows[which] = q.start(which)
	return q.flows[which].Restore(snapshot)
}

// appendCell appends a value as text with an end that no value has.
func appendCell(dst []byte, v types.Value) []byte {
	switch {
	case v.IsNull():
		return append(dst, "NULL|"...)
	case v.Kind() == types.Json:
		return append(append(dst, v.Text()...), '|')
	default:
		return append(append(dst, v.String()...), '|')
	}
}

// postgresTypes are the types of columns by kind.
var postgresTypes = map[types.Kind]string{types.String: "text", types.Double: "float8", types.Long: "bigint", types.Bool: "boolean",
	types.Timestamp: "timestamptz", types.Json: "jsonb"}

var postgresOIDs = map[types.Kind]uint32{types.String: pgtype.TextOID, types.Double: pgtype.Float8OID, types.Long: pgtype.Int8OID,
	types.Bool: pgtype.BoolOID, types.Timestamp: pgtype.TimestamptzOID, types.Json: pgtype.JSONBOID}

// errSide marks a failure of PostgreSQL or of this package, not a difference.
var errSide = errors.New("PostgreSQL")

// readRows folds the rows of a PostgreSQL result like the output of a flow.
func readRows(rows pgx.Rows, out types.Schema) (map[string]int64, error) {
	defer rows.Close()
	folded := map[string]int64{}
	var key []byte
	checked := false
	for rows.Next() {
		fields := rows.FieldDescriptions()
		if !checked {
			checked = true
			if len(fields) != len(out) {
				return nil, fmt.Errorf("%w has %d columns, the engine %d", errSide, len(fields), len(out))
			}
			for i, f := range fields {
				if f.DataTypeOID != postgresOIDs[out[i].Stored()] {
					return nil, fmt.Errorf("%w has type %d for column %s, which is %s", errSide, f.DataTypeOID, out[i].Name, out[i].Stored())
				}
			}
		}
		key = key[:0]
		for i, raw := range rows.RawValues() {
			v, err := cellOf(out[i].Stored(), raw, fields[i].Format == pgx.BinaryFormatCode)
			if err != nil {
				return nil, err
			}
			key = appendCell(key, v)
		}
		folded[string(key)]++
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", errSide, err)
	}
	return folded, nil
}

// cellOf reads a value in PostgreSQL's binary format.
func cellOf(k types.Kind, raw []byte, isBinary bool) (types.Value, error) {
	if raw == nil {
		return types.Null(k), nil
	}
	if !isBinary && k != types.String && k != types.Json {
		return types.Value{}, fmt.Errorf("%w sends %s as text", errSide, k)
	}
	switch k {
	case types.String:
		return types.StringOf(string(raw)), nil
	case types.Double:
		return types.DoubleOf(math.Float64frombits(binary.BigEndian.Uint64(raw))), nil
	case types.Long:
		return types.LongOf(int64(binary.BigEndian.Uint64(raw))), nil
	case types.Bool:
		return types.BoolOf(raw[0] != 0), nil
	case types.Timestamp:
		const year2000 = 946684800000
		return types.TimestampOf(int64(binary.BigEndian.Uint64(raw))/1000 + year2000), nil
	}
	if isBinary {
		raw = raw[1:] // the version of the format
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return types.Value{}, err
	}
	return types.JsonOf(b.String()), nil
}

// difference lists what only one side has; it is empty when they agree.
func difference(engine, other map[string]int64, name string) string {
	if maps.Equal(engine, other) {
		return ""
	}
	var out []string
	for k, n := range engine {
		if m := other[k]; m != n {
			out = append(out, fmt.Sprintf("  %s  engine %d, %s %d", k, n, name, m))
		}
	}
	for k, m := range other {
		if engine[k] == 0 {
			out = append(out, fmt.Sprintf("  %s  engine 0, %s %d", k, name, m))
		}
	}
	slices.Sort(out)
	return strings.Join(out[:min(len(out), 30)], "\n")
}

// argument is a value as a parameter for PostgreSQL.
func argument(v types.Value) any {
	if v.IsNull() {
		return nil
	}
	switch v.Kind() {
	case types.Double:
		return v.Float()
	case types.Long:
		return v.Int()
	case types.Bool:
		return v.Bool()
	case types.Timestamp:
		return time.UnixMilli(v.Int()).UTC()
	}
	return v.Text()
}

// execute runs statements in one round trip.
func execute(ctx context.Context, c *pgx.Conn, sql ...string) error {
	_, err := c.Exec(ctx, strings.Join(sql, ";\n"))
	return err
}
