package project

import (
	"encoding/json"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/streamsforge/streamsforge/engine/simulate"
	"github.com/streamsforge/streamsforge/engine/types"
)

// maxDepth bounds the nesting of a value, as the row decoder does.
const maxDepth = 64

// object reads a mapping as one row.
func (d *document) object(n *yaml.Node, what string) (o simulate.Object, ok bool) {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, what, "a mapping of columns to values")
		return o, false
	}
	o.At = d.place(n)
	before := len(*d.out)
	o.JSON = d.json(nil, n, what, 0)
	for i := 0; i+1 < len(n.Content); i += 2 {
		o.Names = append(o.Names, n.Content[i].Value)
	}
	return o, len(*d.out) == before
}

// json writes a value as JSON: numbers as they are written, times as text.
func (d *document) json(dst []byte, n *yaml.Node, what string, depth int) []byte {
	if depth > maxDepth {
		d.report(d.place(n), codeWrongValue, "", "%s is nested deeper than %d levels", what, maxDepth)
		return append(dst, "null"...)
	}
	switch n.Kind {
	case yaml.MappingNode:
		dst = append(dst, '{')
		first := true
		d.pairs(n, what, func(k, v *yaml.Node) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(types.AppendJSONString(dst, k.Value), ':')
			dst = d.json(dst, v, what, depth+1)
		})
		return append(dst, '}')
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, item := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = d.json(dst, item, what, depth+1)
		}
		return append(dst, ']')
	case yaml.ScalarNode:
		return d.scalar(dst, n, what)
	}
	d.wrong(n, "a value of "+what, "a plain value")
	return append(dst, "null"...)
}

func (d *document) scalar(dst []byte, n *yaml.Node, what string) []byte {
	switch n.ShortTag() {
	case "!!null":
		return append(dst, "null"...)
	case "!!bool":
		return strconv.AppendBool(dst, d.boolean(n, "a value of "+what))
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return append(dst, n.Value...)
		}
		var i int64
		var f float64
		switch {
		case n.ShortTag() == "!!int" && n.Decode(&i) == nil:
			return strconv.AppendInt(dst, i, 10)
		case n.Decode(&f) == nil:
			if text, err := json.Marshal(f); err == nil {
				return append(dst, text...)
			}
		}
		d.wrong(n, "a value of "+what, "a finite number")
		return append(dst, "null"...)
	}
	return types.AppendJSONString(dst, n.Value)
}
