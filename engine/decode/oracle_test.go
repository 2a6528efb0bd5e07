package decode_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/types"
)

// The oracle says the same as the decoder in an obvious way: jsontext reads a tree, and every rule is applied to
// the tree.

// node is one JSON value: kind is jsontext's, text the characters of a string or the digits of a number.
type node struct {
	kind    jsontext.Kind
	text    string
	members []memberNode // of an object, last of each name
	items   []node
}

type memberNode struct {
	name  string
	value node
}

var errDeep = errors.New("too deep")

// parseTree reads all of b as one JSON value.
func parseTree(b []byte, maxDepth int) (node, error) {
	d := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true))
	n, err := readNode(d, maxDepth)
	if err != nil {
		return n, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return n, errors.New("trailing data")
	}
	return n, nil
}

func readNode(d *jsontext.Decoder, depth int) (node, error) {
	t, err := d.ReadToken()
	if err != nil {
		return node{}, err
	}
	n := node{kind: t.Kind()}
	switch n.kind {
	case '"', '0':
		n.text = t.String()
	case '[', '{':
		if depth == 0 {
			return n, errDeep
		}
		for d.PeekKind() != ']' && d.PeekKind() != '}' {
			if n.kind == '[' {
				item, err := readNode(d, depth-1)
				if err != nil {
					return n, err
				}
				n.items = append(n.items, item)
				continue
			}
			t, err := d.ReadToken()
			if err != nil {
				return n, err
			}
			m := memberNode{name: t.String()}
			if m.value, err = readNode(d, depth-1); err != nil {
				return n, err
			}
			for i := range n.members {
				if n.members[i].name == m.name {
					n.members = append(n.members[:i:i], n.members[i+1:]...)
					break
				}
			}
			n.members = append(n.members, m)
		}
		if _, err := d.ReadToken(); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (n node) compact() string {
	switch n.kind {
	case '"':
		return quote(n.text)
	case '0':
		return n.text
	case '[':
		var parts []string
		for _, i := range n.items {
			parts = append(parts, i.compact())
		}
		return "[" + strings.Join(parts, ",") + "]"
	case '{':
		var parts []string
		for _, m := range n.members {
			parts = append(parts, quote(m.name)+":"+m.value.compact())
		}
		return "{" + strings.Join(parts, ",") + "}"
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return "null"
}

func quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// find returns the member; ok is false when there is none.
func (n node) find(name string) (node, bool) {
	for _, m := range n.members {
		if m.name == name {
			return m.value, true
		}
	}
	return node{}, false
}

// wantRow returns the cells of the row in the layout, and the number of fields that do not fit.
func wantRow(n node, fields types.Schema, o decode.Options, timeMs int64) (row []types.Value, misfits int) {
	for _, f := range decode.Schema(fields) {
		m, ok := n.find(f.Name)
		switch {
		case f.Name == "_ts":
			row = append(row, wantTime(n, f.Kind, o, timeMs))
			continue
		case f.Name == "_retract":
			op, _ := n.find("_op")
			deleted := o.Keyed && op.kind == '"' && (strings.EqualFold(op.text, "d") || strings.EqualFold(op.text, "delete"))
			row = append(row, types.BoolOf(m.kind == 't' || deleted))
			continue
		case !ok || m.kind == 'n':
			row = append(row, types.Null(f.Kind))
			continue
		}
		i, _ := fields.Find(f.Name)
		v := wantCell(m, f.Kind, fields[i].IsArray)
		if v.IsNull() {
			misfits++
		}
		row = append(row, v)
	}
	return row, misfits
}

func wantTime(n node, k types.Kind, o decode.Options, timeMs int64) types.Value {
	for _, name := range []string{"_ts", o.TimestampField} {
		m, _ := n.find(name)
		switch m.kind {
		case '0':
			if v, ok := wantLong(m.text); ok {
				timeMs = v
			} else {
				continue
			}
		case '"':
			if v, ok := types.ParseTime([]byte(m.text)); ok {
				timeMs = v
			} else {
				continue
			}
		default:
			continue
		}
		break
	}
	if k == types.Timestamp {
		return types.TimestampOf(timeMs)
	}
	return types.LongOf(timeMs)
}

// wantLong cuts off the fraction with big numbers.
func wantLong(text string) (int64, bool) {
	mantissa, exp, _ := strings.Cut(strings.ToLower(text), "e")
	if len(strings.Trim(mantissa, "-0.")) == 0 {
		return 0, true
	}
	if e, err := strconv.Atoi(exp); exp != "" && (err != nil || e > 400+len(text) || e < -400-len(text)) {
		// Far outside, where big numbers would take long.
		if strings.HasPrefix(exp, "-") {
			return 0, true
		}
		return 0, false
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("not a number: " + text)
	}
	q := new(big.Int).Quo(r.Num(), r.Denom())
	return q.Int64(), q.IsInt64()
}

func wantCell(m node, k types.Kind, array bool) types.Value {
	text := m.text
	if m.kind != '"' {
		text = m.compact()
	}
	bool01 := map[jsontext.Kind]int64{'t': 1}[m.kind]
	isBool := m.kind == 't' || m.kind == 'f'
	switch {
	case array && m.kind != '[':
	case k == types.Json:
		return types.JsonOf(m.compact())
	case k == types.String:
		return types.StringOf(text)
	case k == types.Double && isBool:
		return types.DoubleOf(float64(bool01))
	case k == types.Double && m.kind == '0':
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return types.DoubleOf(f)
		}
	case k == types.Double && m.kind == '"':
		if f, ok := types.TextToDouble([]byte(text)); ok {
			return types.DoubleOf(f)
		}
	case k == types.Long && isBool:
		return types.LongOf(bool01)
	case (k == types.Long || k == types.Timestamp) && m.kind == '0':
		if v, ok := wantLong(text); ok && k == types.Long {
			return types.LongOf(v)
		} else if ok {
			return types.TimestampOf(v)
		}
	case (k == types.Long || k == types.Timestamp) && m.kind == '"':
		if v, ok := types.TextToLong([]byte(text)); ok && k == types.Long {
			return types.LongOf(v)
		} else if ok {
			return types.TimestampOf(v)
		}
	case k == types.Bool && isBool:
		return types.BoolOf(bool01 == 1)
	case k == types.Bool && m.kind == '0':
		mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
		return types.BoolOf(strings.Trim(mantissa, "-0.") != "")
	case k == types.Bool && m.kind == '"':
		return types.BoolOf(types.TextToBool([]byte(text)))
	}
	return types.Null(k)
}

// same compares cells; doubles by their bits.
func same(a, b types.Value) bool {
	return a.Kind() == b.Kind() && a.IsNull() == b.IsNull() && a.Int() == b.Int() && a.Text() == b.Text() &&
		math.Float64bits(a.Float()) == math.Float64bits(b.Float())
}
