package project

import (
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

// parsed is a model with the models that it reads.
type parsed struct {
	model *Model
	refs  []*syntax.TableName
}

// order sorts models so that each stands behind those that it reads, otherwise as they are declared. Models that read
// each other are reported, once for each circle, and left out; those that read them stay, and find them missing.
func (c *check) order(models []*parsed) []*parsed {
	byName := map[string]*parsed{}
	for _, m := range models {
		if byName[m.model.Name] == nil {
			byName[m.model.Name] = m
		}
	}
	const open, done = 1, 2
	state := map[*parsed]int{}
	cyclic := map[*parsed]bool{}
	var out, path []*parsed
	var visit func(m *parsed)
	visit = func(m *parsed) {
		state[m] = open
		path = append(path, m)
		for _, ref := range m.refs {
			next := byName[ref.Name.Name]
			switch {
			case next == nil:
			case state[next] == open:
				c.cycle(path[slices.Index(path, next):], ref, cyclic)
			case state[next] == 0:
				visit(next)
			}
		}
		path = path[:len(path)-1]
		state[m] = done
		if !cyclic[m] {
			out = append(out, m)
		}
	}
	for _, m := range models {
		if state[m] == 0 {
			visit(m)
		}
	}
	return out
}

// cycle reports models that read each other; the last of them reads the first by ref.
func (c *check) cycle(circle []*parsed, ref *syntax.TableName, cyclic map[*parsed]bool) {
	names := make([]string, 0, len(circle)+1)
	for _, m := range circle {
		names = append(names, m.model.Name)
		cyclic[m] = true
		c.broken[m.model.Name] = true
	}
	names = append(names, names[0])
	last := circle[len(circle)-1].model
	message := "models read each other: " + strings.Join(names, " -> ")
	if len(circle) == 1 {
		message = "model " + last.Name + " reads itself: " + strings.Join(names, " -> ")
	}
	c.report(last.Text.Place(ref.Pos), last.Name, CodeCycle, "take one of the ref() out, or write WITH RECURSIVE inside of one model", "%s", message)
}
