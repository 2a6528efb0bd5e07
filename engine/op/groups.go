package op

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// groups gives every distinct key a dense number. A key that is one dictionary column is looked up once per entry
// of the dictionary; other keys are encoded as canonical records, hashed and found in separate passes, which
// overlaps the cache misses of a large table.
type groups struct {
	kernels []*expr.Kernel
	table   *zset.KeyTable
	ids     []uint32
	keys    zset.KeyBatch
	cols    zset.Batch // the key columns of the batch at hand

	dict   *zset.Dict // codes are known for this dictionary
	codes  []uint32   // group of a code, zset.NoID unknown
	nullID uint32
	rec    []byte
}

func newGroups(keys []expr.Expr) *groups {
	g := &groups{table: zset.NewKeyTable(), cols: zset.Batch{Cols: make([]zset.Column, len(keys))}, nullID: zset.NoID}
	for _, k := range keys {
		g.kernels = append(g.kernels, expr.Compile(k))
	}
	return g
}

// of returns the group of every selected row; the list is valid until the next call.
func (g *groups) of(d Delta) []uint32 {
	n := d.Len()
	g.ids = grow(g.ids, n)
	if n == 0 {
		return g.ids
	}
	switch len(g.kernels) {
	case 0:
		id, _ := g.table.Insert(nil)
		for k := range g.ids {
			g.ids[k] = id
		}
		return g.ids
	case 1:
		if c := g.kernels[0].Aligned(d.B, d.Sel); c.Dict != nil && g.fromDict(c, d) {
			return g.ids
		} else {
			g.cols.Cols[0] = *c
		}
	default:
		for i, k := range g.kernels {
			g.cols.Cols[i] = *k.Aligned(d.B, d.Sel)
		}
	}
	g.cols.N = d.B.N
	g.keys.Reset()
	g.keys.Encode(&g.cols, nil, d.Sel)
	g.table.InsertBatch(&g.keys, g.ids)
	return g.ids
}

// fromDict looks codes up. It declines a dictionary that is large beside the batch and not known yet.
func (g *groups) fromDict(c *zset.Column, d Delta) bool {
	if c.Dict != g.dict {
		switch {
		case g.dict != nil && c.Dict.Extends(g.dict):
		case c.Dict.Len() > 4*len(g.ids)+64:
			return false
		default:
			g.codes = g.codes[:0]
		}
		g.dict = c.Dict
		for len(g.codes) < c.Dict.Len() {
			g.codes = append(g.codes, zset.NoID)
		}
	}
	if c.Valid != nil {
		for k := range g.ids {
			i := d.At(k)
			if c.IsNull(i) {
				g.ids[k] = g.null()
			} else {
				g.ids[k] = g.code(c, c.Codes[i])
			}
		}
		return true
	}
	if d.Sel == nil {
		for i, code := range c.Codes[:len(g.ids)] {
			id := g.codes[code]
			if id == zset.NoID {
				id = g.code(c, code)
			}
			g.ids[i] = id
		}
		return true
	}
	for k, i := range d.Sel {
		code := c.Codes[i]
		id := g.codes[code]
		if id == zset.NoID {
			id = g.code(c, code)
		}
		g.ids[k] = id
	}
	return true
}

func (g *groups) code(c *zset.Column, code uint32) uint32 {
	id := g.codes[code]
	if id == zset.NoID {
		if c.Kind == types.Json {
			g.rec = zset.AppendJsonCell(g.rec[:0], c.Dict.At(code))
		} else {
			g.rec = zset.AppendStringCell(g.rec[:0], c.Dict.At(code))
		}
		id, _ = g.table.Insert(g.rec)
		g.codes[code] = id
	}
	return id
}

func (g *groups) null() uint32 {
	if g.nullID == zset.NoID {
		g.rec = zset.AppendNullCell(g.rec[:0])
		g.nullID, _ = g.table.Insert(g.rec)
	}
	return g.nullID
}

// forget drops what is remembered about codes; a group was removed and its number may be given to another key.
func (g *groups) forget() {
	g.dict, g.codes, g.nullID = nil, g.codes[:0], zset.NoID
}

func storedKind(k types.Kind) types.Kind {
	if k == types.Unknown {
		return types.String
	}
	return k
}
