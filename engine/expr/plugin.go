package expr

import (
	"fmt"
	"sort"
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Plugin is a scalar function of an embedder. It takes part in validation, plans, completion and documentation like the
// functions of the engine itself.
type Plugin struct {
	// Name is the upper-case name: letters, digits and underscores.
	Name string
	// Signature shows how it is called: "FX_FWD(spot, rDom, rFor, t)".
	Signature string
	// Doc is one line.
	Doc string
	// Params are the kinds that arguments are converted to; a text where a number belongs is NULL. Min is how many of
	// them a call has to have; 0 means all.
	Params []types.Kind
	Min    int
	Result types.Kind
	// Row computes one row. No argument is NULL: a NULL argument makes the result NULL. Row is a pure function: the same
	// arguments give the same result, on any goroutine. It returns NULL for what it has no result for.
	Row func(args []types.Value) types.Value
}

// pluginFault is told of every row for which a plugin panicked.
var pluginFault = func(string) {}

// OnPluginFault sets who is told, with the name of the function, of every row for which a plugin panicked; the result
// is NULL. It is called from init functions; told is called on any goroutine.
func OnPluginFault(told func(name string)) { pluginFault = told }

// Register adds a function to the table. It is called from init functions, before anything is compiled; a second
// function of a name, and an incomplete one, are mistakes of the program and panic.
func Register(p Plugin) {
	switch {
	case p.Name == "" || p.Name != strings.ToUpper(p.Name) || strings.Trim(p.Name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "":
		panic(fmt.Sprintf("BUG: the function %q is registered under a name that is none", p.Name))
	case p.Row == nil || p.Signature == "" || p.Doc == "" || len(p.Params) == 0 || p.Min > len(p.Params):
		panic("BUG: the function " + p.Name + " is registered without a part of its description")
	}
	if _, ok := byName[p.Name]; ok {
		panic("BUG: the function " + p.Name + " is registered twice")
	}
	if p.Min == 0 {
		p.Min = len(p.Params)
	}
	f := scalar{
		name: p.Name, sign: p.Signature, doc: p.Doc, params: p.Params, min: p.Min, max: len(p.Params), result: p.Result, row: p.row,
	}.function()
	f.Plugin = true
	functions = append(functions, f)
	sort.Slice(functions, func(i, j int) bool { return functions[i].Name < functions[j].Name })
	byName[p.Name] = f
}

// row runs the function on one row.
func (p Plugin) row(r *rowArgs) (ok bool) {
	defer func() {
		if recover() != nil {
			pluginFault(p.Name)
			ok = false
		}
	}()
	args := make([]types.Value, r.count())
	for k := range args {
		args[k] = r.value(k, p.Params[min(k, len(p.Params)-1)])
	}
	v := p.Row(args)
	if v.IsNull() || v.Kind() != p.Result {
		return false
	}
	switch p.Result {
	case types.Double:
		r.f = v.Float()
	case types.String, types.Json:
		r.out = append(r.out, v.Text()...)
	case types.Bool:
		r.n = 0
		if v.Bool() {
			r.n = 1
		}
	default:
		r.n = v.Int()
	}
	return true
}

// value boxes an argument.
func (r *rowArgs) value(k int, kind types.Kind) types.Value {
	switch kind {
	case types.Double:
		return types.DoubleOf(r.double(k))
	case types.String:
		return types.StringOf(string(r.text(k)))
	case types.Json:
		return types.JsonOf(string(r.text(k)))
	case types.Bool:
		return types.BoolOf(r.long(k) != 0)
	case types.Timestamp:
		return types.TimestampOf(r.long(k))
	}
	return types.LongOf(r.long(k))
}
