package generator

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"

	"github.com/streamsforge/streamsforge/engine/types"
)

// generic makes values that match any declared schema. Without a schema a row is a key and a value.
type generic struct {
	r      *rand.Rand
	fields []genericField
}

// genericField is a field with its names escaped once.
type genericField struct {
	key      string // as a JSON member name, without quotes
	kind     types.Kind
	array    bool
	fixed    string // a constant value, "" for a random one
	children []genericField
}

func newGeneric(r *rand.Rand, fields types.Schema) *generic {
	return &generic{r: r, fields: prepare(fields, true)}
}

func prepare(fields types.Schema, top bool) []genericField {
	out := make([]genericField, 0, len(fields))
	for _, f := range fields {
		if top && f.Name == types.TsColumn {
			continue // every row carries its time already
		}
		g := genericField{key: escape(f.Name), kind: f.Kind, array: f.IsArray, children: prepare(f.Children, false)}
		if top && f.Name == types.RetractColumn {
			g.fixed = "false" // made-up rows never take others back
		}
		out = append(out, g)
	}
	return out
}

func escape(name string) string {
	b, _ := json.Marshal(name) // a string always encodes
	return string(b[1 : len(b)-1])
}

func (p *generic) appendRow(dst []byte, nowMs int64) []byte {
	if len(p.fields) == 0 {
		o := object{b: dst}
		o.text("key", "k"+strconv.Itoa(1+p.r.IntN(5)))
		o.double("value", p.r.Float64()*1000, 4)
		return o.b
	}
	return p.members(dst, p.fields, nowMs)
}

func (p *generic) members(dst []byte, fields []genericField, nowMs int64) []byte {
	o := object{b: dst}
	for i := range fields {
		o.key(fields[i].key)
		o.b = p.field(o.b, &fields[i], nowMs)
	}
	return o.b
}

func (p *generic) field(dst []byte, f *genericField, nowMs int64) []byte {
	if !f.array {
		return p.value(dst, f, nowMs)
	}
	dst = append(dst, '[')
	for i := range 1 + p.r.IntN(3) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.value(dst, f, nowMs)
	}
	return append(dst, ']')
}

func (p *generic) value(dst []byte, f *genericField, nowMs int64) []byte {
	if f.fixed != "" {
		return append(dst, f.fixed...)
	}
	if len(f.children) > 0 {
		return append(p.members(append(dst, '{'), f.children, nowMs), '}')
	}
	switch f.kind {
	case types.Double:
		return appendDouble(dst, p.r.Float64()*1000, 4)
	case types.Long:
		return strconv.AppendInt(dst, p.r.Int64N(10_000), 10)
	case types.Bool:
		return strconv.AppendBool(dst, p.r.IntN(2) == 0)
	case types.Timestamp:
		return strconv.AppendInt(dst, nowMs, 10)
	case types.Json:
		o := object{b: append(dst, '{')}
		o.long("value", 1+p.r.Int64N(99))
		return append(o.b, '}')
	default:
		dst = append(dst, '"')
		dst = append(dst, f.key...)
		dst = append(dst, '-')
		dst = strconv.AppendInt(dst, 1+p.r.Int64N(999), 10)
		return append(dst, '"')
	}
}
