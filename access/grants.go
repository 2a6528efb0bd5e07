package access

import (
	"fmt"
	"slices"
	"strings"
)

// Request is one question: may the grants' holder do Action at Scope? Scope is the name of an entity, never its id,
// or "*" for an action that concerns no single entity. Tags are those stored with the entity.
type Request struct {
	Env    string
	Action string
	Scope  string
	Tags   []string
}

// Decide answers a request from a flat list of grants. The order of the list does not matter.
func Decide(grants []Grant, r Request) Decision {
	var approval, bypass bool
	var needs Grant
	allowed := false
	for _, g := range grants {
		if !inEnvironment(g, r.Env) || !matchScope(g.Scope, r.Scope, r.Tags) {
			continue
		}
		if g.Effect != Deny && !g.RequiresApproval && matchAction(g.Action, "approval.bypass") {
			bypass = true
		}
		if !matchAction(g.Action, r.Action) {
			continue
		}
		switch {
		case g.Effect == Deny:
			return Decision{Reason: denied(g)}
		case !g.RequiresApproval:
			allowed = true
		case !approval:
			approval, needs = true, g
		}
	}
	switch {
	case allowed, approval && bypass && !bypassDenied(grants, r):
		return Decision{Allowed: true}
	case approval:
		return Decision{RequiresApproval: true, Reason: fmt.Sprintf("grant %s on %s requires approval", needs.Action, needs.Scope)}
	}
	return Decision{Reason: fmt.Sprintf("no grant matches '%s' on '%s'", r.Action, r.Scope)}
}

func bypassDenied(grants []Grant, r Request) bool {
	return slices.ContainsFunc(grants, func(g Grant) bool {
		return g.Effect == Deny && inEnvironment(g, r.Env) && matchScope(g.Scope, r.Scope, r.Tags) && matchAction(g.Action, "approval.bypass")
	})
}

func denied(g Grant) string {
	text := fmt.Sprintf("denied by grant %s on %s", g.Action, g.Scope)
	if g.Note != nil && *g.Note != "" {
		text += " (" + *g.Note + ")"
	}
	return text
}

func inEnvironment(g Grant, env string) bool {
	return g.Environment == nil || *g.Environment == env || *g.Environment == "" && env == "default"
}

// matchAction matches a dotted action against a pattern in which * stands for any run of characters.
func matchAction(pattern, action string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == action
	}
	if !strings.HasPrefix(action, first) {
		return false
	}
	action = action[len(first):]
	for {
		part, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(action, part)
		}
		i := strings.Index(action, part)
		if i < 0 {
			return false
		}
		action, rest = action[i+len(part):], next
	}
}

// matchScope matches a scope pattern: "*", "tag:<tag>", a prefix that ends in "*", or an exact name. Names are
// compared as they are, case included.
func matchScope(pattern, scope string, tags []string) bool {
	if pattern == "*" {
		return true
	}
	if tag, ok := strings.CutPrefix(pattern, "tag:"); ok {
		return slices.Contains(tags, tag)
	}
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		// A question about everything is not a question about a name that happens to start like it.
		return scope != "*" && strings.HasPrefix(scope, prefix)
	}
	return pattern == scope
}

// Actions of the built-in roles.
var (
	viewerActions = []string{"source.read", "pipeline.read", "table.read", "config.export", "catalog.read", "approval.request"}
	editorActions = []string{
		"source.write", "source.delete", "source.ingest", "source.run",
		"pipeline.write", "pipeline.delete", "pipeline.control",
		"table.write", "table.delete", "table.control",
		"config.replace", "catalog.write", "chat.use",
	}
)

// BuiltInRoles are the roles every access document starts with. Their grants may be edited; they cannot be deleted.
func BuiltInRoles() []RoleDef {
	return []RoleDef{
		{Name: string(Viewer), Description: "Reads everything.", Grants: everywhere(viewerActions), BuiltIn: true},
		{Name: string(Editor), Description: "Reads and changes sources, pipelines and tables.", Grants: everywhere(append(slices.Clone(viewerActions), editorActions...)), BuiltIn: true},
		{Name: string(Admin), Description: "Does everything.", Grants: everywhere([]string{"*"}), BuiltIn: true},
	}
}

func everywhere(actions []string) []Grant {
	out := make([]Grant, len(actions))
	for i, a := range actions {
		out[i] = Grant{Action: a, Scope: "*", Effect: Allow}
	}
	return out
}

// Effective flattens what a user has: own grants, then the grants of the user's groups, then those of all roles. A
// user without an entry has the role of the login. A disabled user has nothing.
func (d *Document) Effective(username string, role Role) Effective {
	out := Effective{Username: username, Roles: []string{}, Groups: []string{}, Grants: []Grant{}, Version: d.Version}
	i := slices.IndexFunc(d.Users, func(u UserAccess) bool { return u.Username == username })
	switch {
	case i >= 0 && d.Users[i].Disabled:
		out.Disabled = true
		return out
	case i >= 0:
		out.Roles = append(out.Roles, d.Users[i].Roles...)
		out.Grants = append(out.Grants, d.Users[i].Grants...)
	case role != "":
		out.Roles = append(out.Roles, string(role))
	}
	for _, g := range d.Groups {
		if !slices.Contains(g.Members, username) {
			continue
		}
		out.Groups = append(out.Groups, g.Name)
		out.Grants = append(out.Grants, g.Grants...)
		for _, r := range g.Roles {
			if !slices.Contains(out.Roles, r) {
				out.Roles = append(out.Roles, r)
			}
		}
	}
	for _, name := range out.Roles {
		if j := slices.IndexFunc(d.Roles, func(r RoleDef) bool { return r.Name == name }); j >= 0 {
			out.Grants = append(out.Grants, d.Roles[j].Grants...)
		}
	}
	return out
}
