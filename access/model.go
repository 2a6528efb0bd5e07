package access

import "time"

// Role is the stored role of a user; it decides the role floor of a route and, for a user without an entry in the
// access document, which built-in role's grants apply.
type Role string

// The roles, weakest first.
const (
	Viewer Role = "Viewer"
	Editor Role = "Editor"
	Admin  Role = "Admin"
)

// Valid reports whether the role is one of the three.
func (r Role) Valid() bool { return r == Viewer || r == Editor || r == Admin }

// Effect is what a matching grant does.
type Effect string

// The effects.
const (
	Allow Effect = "Allow"
	Deny  Effect = "Deny"
)

// Grant permits or refuses the actions its patterns match, at the scopes its pattern matches.
type Grant struct {
	Action           string  `json:"action"` // dotted, with * globs
	Scope            string  `json:"scope"`  // *, a name, a prefix "prod-*", or "tag:finance"
	Effect           Effect  `json:"effect"`
	RequiresApproval bool    `json:"requiresApproval"`
	Note             *string `json:"note"`
	Environment      *string `json:"environment"` // absent: every environment
}

// RoleDef is a named bundle of grants.
type RoleDef struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Grants      []Grant `json:"grants"`
	BuiltIn     bool    `json:"builtIn"`
	UpdatedAtMs int64   `json:"updatedAtMs"`
	UpdatedBy   string  `json:"updatedBy"`
}

// Group gives its members roles and grants.
type Group struct {
	Name                string   `json:"name"`
	Description         string   `json:"description"`
	Members             []string `json:"members"`
	Roles               []string `json:"roles"`
	Grants              []Grant  `json:"grants"`
	ExternalClaimValues []string `json:"externalClaimValues"`
	CreatedAtMs         int64    `json:"createdAtMs"`
	UpdatedAtMs         int64    `json:"updatedAtMs"`
	UpdatedBy           string   `json:"updatedBy"`
}

// UserAccess is what a user has beyond the role of the login.
type UserAccess struct {
	Username    string   `json:"username"`
	Disabled    bool     `json:"disabled"`
	Roles       []string `json:"roles"`
	Grants      []Grant  `json:"grants"`
	UpdatedAtMs int64    `json:"updatedAtMs"`
	UpdatedBy   string   `json:"updatedBy"`
}

// Document is everything decisions are made from.
type Document struct {
	Roles       []RoleDef    `json:"roles"`
	Groups      []Group      `json:"groups"`
	Users       []UserAccess `json:"users"`
	Version     int64        `json:"version"` // grows with every write
	UpdatedAtMs int64        `json:"updatedAtMs"`
}

// Effective is what a user has once everything is flattened: own grants, then groups', then roles'. A disabled user
// has nothing.
type Effective struct {
	Username string   `json:"username"`
	Disabled bool     `json:"disabled"`
	Roles    []string `json:"roles"`
	Groups   []string `json:"groups"`
	Grants   []Grant  `json:"grants"`
	Version  int64    `json:"version"`
}

// User is a login as it is shown. The password's hash is never part of it.
type User struct {
	Username    string `json:"username"`
	DisplayName string `json:"displayName"`
	Role        Role   `json:"role"`
	CreatedAtMs int64  `json:"createdAtMs"`
}

// Principal is an authenticated caller.
type Principal struct {
	Username    string
	DisplayName string
	Role        Role // as stored now; "" when Gone
	Gone        bool // the login was deleted; the token is still a valid one
	Expires     time.Time
	TokenID     string
}

// Decision is the answer to "may they?".
type Decision struct {
	Allowed bool
	// RequiresApproval: the only matching Allow asks for an approval.
	RequiresApproval bool
	// Reason is the refusal text, the same on every surface; "" when allowed.
	Reason string
}
