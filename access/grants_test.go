package access_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/access"
)

func str(s string) *string { return &s }

func TestDecide(t *testing.T) {
	allow := func(action, scope string) access.Grant {
		return access.Grant{Action: action, Scope: scope, Effect: access.Allow}
	}
	deny := func(action, scope string) access.Grant {
		return access.Grant{Action: action, Scope: scope, Effect: access.Deny}
	}
	approval := func(action, scope string) access.Grant {
		return access.Grant{Action: action, Scope: scope, Effect: access.Allow, RequiresApproval: true}
	}
	noted := deny("pipeline.*", "prod-*")
	noted.Note = str("no prod writes")
	staging := allow("table.read", "*")
	staging.Environment = str("staging")

	tests := []struct {
		name   string
		grants []access.Grant
		action string
		scope  string
		tags   []string
		want   string // "" is allowed
	}{
		{"nothing", nil, "table.read", "positions", nil, "no grant matches 'table.read' on 'positions'"},
		{"exact", []access.Grant{allow("table.read", "positions")}, "table.read", "positions", nil, ""},
		{"case counts", []access.Grant{allow("table.read", "Positions")}, "table.read", "positions", nil, "no grant matches 'table.read' on 'positions'"},
		{"action glob", []access.Grant{allow("table.*", "*")}, "table.control", "x", nil, ""},
		{"action glob at the front", []access.Grant{allow("*.read", "*")}, "table.read", "x", nil, ""},
		{"action glob in the middle", []access.Grant{allow("t*.r*d", "*")}, "table.read", "x", nil, ""},
		{"glob does not overlap itself", []access.Grant{allow("ab*ba", "*")}, "aba", "x", nil, "no grant matches 'aba' on 'x'"},
		{"all actions", []access.Grant{allow("*", "*")}, "user.write", "x", nil, ""},
		{"prefix", []access.Grant{allow("table.read", "prod-*")}, "table.read", "prod-a", nil, ""},
		{"prefix is not everything", []access.Grant{allow("table.write", "p*")}, "table.write", "*", nil, "no grant matches 'table.write' on '*'"},
		{"a bare star among prefixes", []access.Grant{allow("table.write", "*")}, "table.write", "*", nil, ""},
		{"tag", []access.Grant{allow("table.read", "tag:finance")}, "table.read", "x", []string{"a", "finance"}, ""},
		{"other tag", []access.Grant{allow("table.read", "tag:finance")}, "table.read", "x", []string{"fin"}, "no grant matches 'table.read' on 'x'"},
		{"a name is not a tag", []access.Grant{allow("table.read", "tag:x")}, "table.read", "tag:x", nil, "no grant matches 'table.read' on 'tag:x'"},
		{"deny beats exact allow", []access.Grant{allow("pipeline.write", "prod-a"), noted}, "pipeline.write", "prod-a", nil, "denied by grant pipeline.* on prod-* (no prod writes)"},
		{"deny beats approval", []access.Grant{approval("table.read", "*"), deny("table.read", "x")}, "table.read", "x", nil, "denied by grant table.read on x"},
		{"deny of another scope", []access.Grant{allow("table.read", "*"), deny("table.read", "y")}, "table.read", "x", nil, ""},
		{"approval alone", []access.Grant{approval("source.write", "*")}, "source.write", "x", nil, "grant source.write on * requires approval"},
		{"approval beside a broad allow", []access.Grant{approval("source.write", "x"), allow("source.*", "*")}, "source.write", "x", nil, ""},
		{"bypass", []access.Grant{approval("source.write", "*"), allow("approval.bypass", "*")}, "source.write", "x", nil, ""},
		{"denied bypass", []access.Grant{approval("source.write", "*"), allow("approval.*", "*"), deny("approval.bypass", "x")}, "source.write", "x", nil, "grant source.write on * requires approval"},
		{"another environment", []access.Grant{staging}, "table.read", "x", nil, "no grant matches 'table.read' on 'x'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := access.Decide(tt.grants, access.Request{Env: "default", Action: tt.action, Scope: tt.scope, Tags: tt.tags})
			if d.Reason != tt.want || d.Allowed != (tt.want == "") {
				t.Errorf("got %+v, want reason %q", d, tt.want)
			}
			if d.RequiresApproval != strings.HasSuffix(tt.want, "requires approval") {
				t.Errorf("RequiresApproval is %v with reason %q", d.RequiresApproval, d.Reason)
			}
		})
	}
}

// globMatches is the slow, obvious matcher: every way to let * stand for something is tried.
func globMatches(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		for i := 0; i <= len(text); i++ {
			if globMatches(pattern[1:], text[i:]) {
				return true
			}
		}
		return false
	}
	return text != "" && pattern[0] == text[0] && globMatches(pattern[1:], text[1:])
}

func scopeMatches(pattern, scope string, tags []string) bool {
	switch {
	case pattern == "*":
		return true
	case strings.HasPrefix(pattern, "tag:"):
		return slices.Contains(tags, pattern[4:])
	case strings.HasSuffix(pattern, "*"):
		return scope != "*" && len(scope) >= len(pattern)-1 && scope[:len(pattern)-1] == pattern[:len(pattern)-1]
	}
	return pattern == scope
}

// TestDecideAgainstModel compares the evaluator with the definition said in one sentence per line.
func TestDecideAgainstModel(t *testing.T) {
	action := rapid.SampledFrom([]string{"a.b", "a.c", "aa.b", "approval.bypass", "b"})
	pattern := rapid.SampledFrom([]string{"a.b", "a.*", "*", "*.b", "a*b", "**", "approval.*", "approval.bypass", "a.b*", ""})
	scope := rapid.SampledFrom([]string{"x", "xy", "prod-1", "*", ""})
	scopes := rapid.SampledFrom([]string{"x", "x*", "*", "prod-*", "tag:f", "tag:g", ""})
	env := rapid.SampledFrom([]*string{nil, str(""), str("default"), str("staging")})
	grant := rapid.Custom(func(t *rapid.T) access.Grant {
		return access.Grant{
			Action: pattern.Draw(t, "action"), Scope: scopes.Draw(t, "scope"),
			Effect:           rapid.SampledFrom([]access.Effect{access.Allow, access.Deny}).Draw(t, "effect"),
			RequiresApproval: rapid.Bool().Draw(t, "approval"), Environment: env.Draw(t, "env"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		grants := rapid.SliceOfN(grant, 0, 6).Draw(t, "grants")
		q := access.Request{
			Env: rapid.SampledFrom([]string{"default", "staging"}).Draw(t, "env"), Action: action.Draw(t, "action"),
			Scope: scope.Draw(t, "scope"), Tags: rapid.SliceOfN(rapid.SampledFrom([]string{"f", "g"}), 0, 2).Draw(t, "tags"),
		}
		matching := func(action string) (deny, allow, approval bool) {
			for _, g := range grants {
				here := g.Environment == nil || *g.Environment == q.Env || *g.Environment == "" && q.Env == "default"
				if !here || !globMatches(g.Action, action) || !scopeMatches(g.Scope, q.Scope, q.Tags) {
					continue
				}
				switch {
				case g.Effect == access.Deny:
					deny = true
				case g.RequiresApproval:
					approval = true
				default:
					allow = true
				}
			}
			return deny, allow, approval
		}
		deny, allow, approval := matching(q.Action)
		bypassDenied, bypass, _ := matching("approval.bypass")
		want := !deny && (allow || approval && bypass && !bypassDenied)
		got := access.Decide(grants, q)
		if got.Allowed != want {
			t.Fatalf("allowed %v, want %v: %+v", got.Allowed, want, got)
		}
		if got.RequiresApproval != (!want && !deny && approval) {
			t.Fatalf("requires approval %v: %+v", got.RequiresApproval, got)
		}
		// The order of grants is no part of the decision.
		slices.Reverse(grants)
		if again := access.Decide(grants, q); again.Allowed != got.Allowed || again.RequiresApproval != got.RequiresApproval {
			t.Fatalf("the reversed list decides %+v instead of %+v", again, got)
		}
	})
}

func TestBuiltInRoles(t *testing.T) {
	may := func(role, action string) bool {
		for _, r := range access.BuiltInRoles() {
			if r.Name == role {
				return access.Decide(r.Grants, access.Request{Env: "default", Action: action, Scope: "x"}).Allowed
			}
		}
		t.Fatalf("no role %s", role)
		return false
	}
	viewer := []string{"source.read", "pipeline.read", "table.read", "config.export", "catalog.read", "approval.request"}
	editor := []string{"source.write", "source.delete", "source.ingest", "source.run", "pipeline.write", "pipeline.delete", "pipeline.control", "table.write", "table.delete", "table.control", "config.replace", "catalog.write", "chat.use"}
	admin := []string{"approval.decide", "approval.bypass", "user.read", "user.write", "access.read", "access.write", "audit.read"}
	for i, actions := range [][]string{viewer, editor, admin} {
		for _, action := range actions {
			for j, role := range []string{"Viewer", "Editor", "Admin"} {
				if got := may(role, action); got != (j >= i) {
					t.Errorf("%s may %s: %v", role, action, got)
				}
			}
		}
	}
}

func TestEffectiveFlattensUserThenGroupsThenRoles(t *testing.T) {
	g := func(action string) access.Grant {
		return access.Grant{Action: action, Scope: "*", Effect: access.Allow}
	}
	d := access.Document{
		Version: 7,
		Roles:   []access.RoleDef{{Name: "ops", Grants: []access.Grant{g("role")}}, {Name: "Viewer", Grants: []access.Grant{g("viewer")}}},
		Groups: []access.Group{
			{Name: "desk", Members: []string{"ann"}, Roles: []string{"ops"}, Grants: []access.Grant{g("group")}},
			{Name: "other", Members: []string{"bob"}, Grants: []access.Grant{g("other")}},
		},
		Users: []access.UserAccess{
			{Username: "ann", Roles: []string{"Viewer"}, Grants: []access.Grant{g("own")}},
			{Username: "eve", Disabled: true, Roles: []string{"Viewer"}, Grants: []access.Grant{g("own")}},
		},
	}
	actions := func(e access.Effective) string {
		var out []string
		for _, g := range e.Grants {
			out = append(out, g.Action)
		}
		return strings.Join(out, " ")
	}
	ann := d.Effective("ann", access.Admin)
	if got := actions(ann); got != "own group viewer role" {
		t.Errorf("ann has %q", got)
	}
	if !slices.Equal(ann.Roles, []string{"Viewer", "ops"}) || !slices.Equal(ann.Groups, []string{"desk"}) || ann.Version != 7 {
		t.Errorf("ann: %+v", ann)
	}
	// A user without an entry has the role of the login; groups count all the same.
	if got := actions(d.Effective("bob", access.Viewer)); got != "other viewer" {
		t.Errorf("bob has %q", got)
	}
	if eve := d.Effective("eve", access.Viewer); !eve.Disabled || len(eve.Grants)+len(eve.Roles)+len(eve.Groups) > 0 {
		t.Errorf("eve: %+v", eve)
	}
}
