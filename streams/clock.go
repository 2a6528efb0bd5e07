package streams

import (
	"cmp"
	"maps"
	"slices"
)

// Clock is the fold of an environment's epoch records up to one of them.
type Clock struct {
	Epoch     uint64
	TimeMs    int64
	Term      uint64
	Seq       uint64            // position of the newest record
	Positions map[string]uint64 // of every input, see [InputKey]

	absent  map[entity]Change
	layouts map[string][]Layout // by source, in the order of their sequences
}

type entity struct{ kind, key string }

func newClock() Clock {
	return Clock{Positions: map[string]uint64{}, absent: map[entity]Change{}, layouts: map[string][]Layout{}}
}

// Away says whether an entity has left the clock and not joined again, and at which epoch it left.
func (c *Clock) Away(kind, key string) (epoch uint64, away bool) {
	ch, away := c.absent[entity{kind, key}]
	return ch.Epoch, away
}

// Absent lists the entities that have left, in a fixed order.
func (c *Clock) Absent() []Change {
	all := slices.Collect(maps.Values(c.absent))
	slices.SortFunc(all, func(a, b Change) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key)) })
	return all
}

// Layouts are the versions of a source's schema, in the order of their first sequences. An empty source means all
// sources.
func (c *Clock) Layouts(source string) []Layout {
	if source != "" {
		return slices.Clone(c.layouts[source])
	}
	var all []Layout
	for _, src := range slices.Sorted(maps.Keys(c.layouts)) {
		all = append(all, c.layouts[src]...)
	}
	return all
}

// take folds one record. A full one, as it is stored, holds everything itself.
func (c *Clock) take(r EpochRecord) {
	if r.Full {
		*c = newClock()
	}
	c.change(r)
}

// change folds what a record says about the record before it.
func (c *Clock) change(r EpochRecord) {
	c.Epoch, c.TimeMs, c.Term, c.Seq = r.Epoch, r.TimeMs, r.Term, r.Seq
	maps.Copy(c.Positions, r.Positions)
	for _, ch := range slices.Concat(r.Absent, r.Left) {
		c.absent[entity{ch.Kind, ch.Key}] = ch
	}
	for _, ch := range r.Joined {
		delete(c.absent, entity{ch.Kind, ch.Key})
	}
	for _, l := range r.Layouts {
		at, known := slices.BinarySearchFunc(c.layouts[l.Source], l, func(a, b Layout) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Version, b.Version))
		})
		if !known {
			c.layouts[l.Source] = slices.Insert(c.layouts[l.Source], at, l)
		}
	}
}

func (c *Clock) forget(input string) {
	delete(c.Positions, input)
	delete(c.layouts, input)
}

func (c *Clock) clone() Clock {
	d := *c
	d.Positions, d.absent, d.layouts = maps.Clone(c.Positions), maps.Clone(c.absent), make(map[string][]Layout, len(c.layouts))
	for k, v := range c.layouts {
		d.layouts[k] = slices.Clone(v)
	}
	return d
}
