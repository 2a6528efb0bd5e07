package project

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/project"
)

// The codes of what is wrong with a file.
const (
	codeFile         = "file"
	codeYAML         = "yaml"
	codeUnknownKey   = "unknown-key"
	codeDuplicateKey = "duplicate-key"
	codeMissingKey   = "missing-key"
	codeWrongValue   = "wrong-value"
)

// document is one YAML file that is being read.
type document struct {
	file  string
	lines []string
	out   *[]project.Finding
}

// parse reads the root of a file; nil when it is empty or no YAML.
func parse(file string, text []byte, out *[]project.Finding) (*document, *yaml.Node) {
	d := &document{file: file, lines: strings.Split(string(text), "\n"), out: out}
	if len(text) > maxFile {
		d.report(project.Place{File: file, Line: 1, Column: 1}, codeFile, "split it", "the file is larger than %d MiB", maxFile>>20)
		return d, nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		d.report(syntaxPlace(file, err), codeYAML, "", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return d, nil
	}
	if len(root.Content) == 0 {
		return d, nil
	}
	return d, root.Content[0]
}

// syntaxPlace takes the line out of a message of the YAML library.
func syntaxPlace(file string, err error) project.Place {
	p := project.Place{File: file, Line: 1, Column: 1}
	var line int
	if _, scanErr := fmt.Sscanf(err.Error(), "yaml: line %d:", &line); scanErr == nil && line > 0 {
		p.Line = line
	}
	return p
}

func (d *document) place(n *yaml.Node) project.Place {
	return project.Place{File: d.file, Line: max(1, n.Line), Column: max(1, n.Column)}
}

func (d *document) report(at project.Place, code, hint, format string, args ...any) {
	*d.out = append(*d.out, project.Finding{Place: at, Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// wrong reports that a value is not what its key takes.
func (d *document) wrong(n *yaml.Node, what, want string) {
	d.report(d.place(n), codeWrongValue, "", "%s is %s, found %s", what, want, describe(n))
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias, which project files do not have"
	}
	if n.ShortTag() == "!!null" {
		return "nothing"
	}
	if len(n.Value) > 40 {
		return fmt.Sprintf("%q...", n.Value[:40])
	}
	return fmt.Sprintf("%q", n.Value)
}

// field is a key that a mapping can have and how its value is read.
type field struct {
	name string
	read func(key, value *yaml.Node)
}

// mapping reads the keys of a mapping. Keys that are not listed, and keys that come twice, are reported.
func (d *document) mapping(n *yaml.Node, what string, fields ...field) bool {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, what, "a mapping")
		return false
	}
	d.pairs(n, what, func(k, v *yaml.Node) {
		for _, f := range fields {
			if f.name == k.Value {
				f.read(k, v)
				return
			}
		}
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.name
		}
		d.report(d.place(k), codeUnknownKey, analyze.DidYouMean(k.Value, names, "keys"), "%s has no key %q", what, k.Value)
	})
	return true
}

// pairs visits the keys of a mapping in order.
func (d *document) pairs(n *yaml.Node, what string, visit func(k, v *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge":
			d.wrong(k, "a key of "+what, "a plain name")
		case seen[k.Value]:
			d.report(d.place(k), codeDuplicateKey, "keep one of them", "%s has the key %q twice", what, k.Value)
		default:
			seen[k.Value] = true
			visit(k, v)
		}
	}
}

// list visits the items of a list.
func (d *document) list(n *yaml.Node, what string, visit func(item *yaml.Node)) bool {
	if n.Kind != yaml.SequenceNode {
		d.wrong(n, what, "a list")
		return false
	}
	for _, item := range n.Content {
		visit(item)
	}
	return true
}

// text reads a value that is text.
func (d *document) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.wrong(n, what, "text")
		return ""
	}
	return n.Value
}

// names reads a list of names, or one name alone. It is nil only when it is neither.
func (d *document) names(n *yaml.Node, what string) []string {
	out := []string{}
	if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
		return append(out, n.Value)
	}
	if !d.list(n, what, func(item *yaml.Node) {
		if s := d.text(item, "an entry of "+what); s != "" {
			out = append(out, s)
		}
	}) {
		return nil
	}
	return out
}

// boolean reads true or false.
func (d *document) boolean(n *yaml.Node, what string) bool {
	var b bool
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&b) != nil {
		d.wrong(n, what, "true or false")
	}
	return b
}

// whole reads a whole number.
func (d *document) whole(n *yaml.Node, what string) int64 {
	var i int64
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&i) != nil {
		d.wrong(n, what, "a whole number")
	}
	return i
}
