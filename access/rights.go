package access

import (
	"context"
	"fmt"
)

// Rights are what a principal may do, resolved once for a request.
type Rights struct {
	Principal Principal
	Effective Effective
	legacy    bool
	lax       bool
	known     bool // at least one role, group or grant counts
}

// Rights resolves the grants of a principal. A user that is gone has none.
func (s *Service) Rights(ctx context.Context, p Principal) Rights {
	d := s.Policy(ctx)
	r := Rights{Principal: p, legacy: s.opt.Legacy, lax: s.opt.LaxViewer}
	if p.Gone {
		r.Effective = Effective{Username: p.Username, Roles: []string{}, Groups: []string{}, Grants: []Grant{}, Version: d.Version}
		return r
	}
	r.Effective = d.Effective(p.Username, p.Role)
	r.known = len(r.Effective.Grants) > 0 || len(r.Effective.Groups) > 0 || p.Role.Valid()
	return r
}

// Legacy reports whether grants are turned off.
func (r Rights) Legacy() bool { return r.legacy }

// Decide answers one question.
func (r Rights) Decide(q Request) Decision {
	switch {
	case r.Principal.Gone:
		return Decision{Reason: fmt.Sprintf("user '%s' does not exist any more", r.Principal.Username)}
	case r.legacy:
		return Decision{Allowed: true} // the role floor alone decides
	case r.Effective.Disabled:
		return Decision{Reason: fmt.Sprintf("user '%s' is disabled", r.Principal.Username)}
	}
	return Decide(r.Effective.Grants, q)
}

// Floor checks the coarse role a route asks for. Editor and Admin can be replaced by a grant: catalog.write and
// access.write on everything.
func (r Rights) Floor(env string, floor Role) Decision {
	if r.Principal.Gone {
		return Decision{Reason: fmt.Sprintf("user '%s' does not exist any more", r.Principal.Username)}
	}
	if r.legacy {
		if rank(r.Principal.Role) >= rank(floor) {
			return Decision{Allowed: true}
		}
		return tooLow(floor)
	}
	if r.Effective.Disabled && (!r.lax || floor != Viewer) {
		return Decision{Reason: fmt.Sprintf("user '%s' is disabled", r.Principal.Username)}
	}
	switch floor {
	case Viewer:
		if r.known || r.lax {
			return Decision{Allowed: true}
		}
		return Decision{Reason: fmt.Sprintf("user '%s' has no role, group or grant", r.Principal.Username)}
	case Editor:
		if rank(r.Principal.Role) >= rank(Editor) || r.Decide(Request{Env: env, Action: "catalog.write", Scope: "*"}).Allowed {
			return Decision{Allowed: true}
		}
	case Admin:
		if r.Principal.Role == Admin || r.Decide(Request{Env: env, Action: "access.write", Scope: "*"}).Allowed {
			return Decision{Allowed: true}
		}
	}
	return tooLow(floor)
}

func tooLow(floor Role) Decision {
	return Decision{Reason: fmt.Sprintf("this needs the role %s", floor)}
}

func rank(r Role) int {
	switch r {
	case Viewer:
		return 1
	case Editor:
		return 2
	case Admin:
		return 3
	}
	return 0
}
