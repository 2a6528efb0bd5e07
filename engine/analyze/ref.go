package analyze

import (
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// Models is a catalog that belongs to a project: it finds what ref('name') reads. Models stand in a name space of
// their own in the text, so that a reader sees which relations the project makes and which come from outside.
type Models interface {
	Catalog
	// Model returns the output of a model. broken says that the model exists and does not compile: its own
	// diagnostics tell why.
	Model(name string) (r Relation, found, broken bool)
	// ModelNames lists every model, for suggestions.
	ModelNames() []string
}

// lookupRef finds a model of the project.
func (a *analyzer) lookupRef(t *syntax.TableName) (Relation, bool) {
	name := t.Name.Name
	if t.Name.Line == 0 { // the parser has said that the name is missing
		return Relation{}, false
	}
	models, ok := a.cat.(Models)
	if !ok {
		a.report(t.RefPos, CodeRef, "write the name without ref, or keep the statement as a model of a project",
			"ref('%s') reads a model of a project, and this statement belongs to none", name)
		a.fix(syntax.Replace(t.RefPos, "ref('"+name+"')", name))
		return Relation{}, false
	}
	r, found, broken := models.Model(name)
	switch {
	case broken:
		a.report(t.Name, CodeRef, "its own diagnostics come first", "model %q cannot be read as long as it has problems", name)
		return Relation{}, false
	case !found && len(a.cat.Relations(name)) > 0:
		a.report(t.RefPos, CodeRef, "write "+name+" without ref", "%q is no model but a %s", name, a.cat.Relations(name)[0].Kind)
		a.fix(syntax.Replace(t.RefPos, "ref('"+name+"')", name))
		return Relation{}, false
	case !found:
		a.report(t.Name, CodeUnknownRelation, didYouMean(name, models.ModelNames(), "models"), "no model %q", name)
		if best := syntax.Nearest(name, models.ModelNames()); best != "" {
			a.fix(syntax.Replace(t.Name.Pos, "'"+name+"'", "'"+best+"'"))
		}
		return Relation{}, false
	case a.mode == Pipeline && r.Kind == plan.Pipeline && !r.AppendOnly:
		a.report(t.Name, CodePipelineInput, "make a table of this query, or take ALLOWED LATENESS out of the model",
			"pipeline %q takes rows back when late ones amend them; a pipeline reads rows that stay", name)
		return Relation{}, false
	case a.mode == Pipeline && r.Kind != plan.Pipeline:
		a.report(t.Name, CodePipelineInput, "make a table of this query",
			"model %q is a table; a pipeline reads rows that stay, in the order in which they come", name)
		return Relation{}, false
	}
	return r, true
}
