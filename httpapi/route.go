package httpapi

import (
	"net/http"

	"github.com/streamsforge/streamsforge/access"
)

// Route is one row of the route table. The table drives registration, the guard, the OpenAPI document, docs/rest.md
// and the tests; nothing about a route is said anywhere else.
type Route struct {
	Method string
	Path   string // with :name, :key, :keyId and :username parameters
	Tag    string // the resource, for the document
	// Summary is one sentence.
	Summary string

	// Floor is the coarse role; "" is anonymous.
	Floor access.Role
	// Action is the grant that is asked for, at Scope; "" asks for none.
	Action string
	Scope  Scope
	// NoEnvironment marks routes that ignore the environment selector.
	NoEnvironment bool

	Query    []Param
	Headers  []Param
	Request  any // a value of the request body's type, nil for none
	Response any // a value of the answer's type, nil for an empty body
	// Media is the answer's media type; "" is application/json.
	Media string
	// Success is the status of an answer; 200 when 0.
	Success int
	// Also are further statuses with their meaning; the ones that every route has are not repeated.
	Also []Status

	handler func(*API, *Ctx) error
}

// Param is one query parameter or header.
type Param struct {
	Name     string
	Type     string // integer, string or boolean
	Default  string
	Repeated bool
	Doc      string
}

// Status is one further status of a route.
type Status struct {
	Code int
	Doc  string
	// Body is a value of the body's type; nil is an empty body, and ErrorBody the usual one.
	Body any
}

// Scope says at which name an action is asked for.
type Scope uint8

// The scopes.
const (
	// Everything asks at "*".
	Everything Scope = iota
	// SourceName asks at the source in the path.
	SourceName
	// PipelineKey and TableKey resolve an id or a name and ask at the entity's name.
	PipelineKey
	TableKey
	// PipelineID and TableID take an id only and ask at the entity's name.
	PipelineID
	TableID
	// UserName asks at the user name in the path.
	UserName
	// InHandler asks at a name in the body, or filters a list: the handler does it.
	InHandler
)

func (r Route) success() int {
	if r.Success == 0 {
		return http.StatusOK
	}
	return r.Success
}

// Names of the headers that select an environment; the second is the older spelling.
const (
	EnvironmentHeader    = "X-StreamsForge-Environment"
	oldEnvironmentHeader = "X-StreamForge-Environment"
	// IngestKeyHeader carries the key of an ingest source.
	IngestKeyHeader = "X-SF-Ingest-Key"
	// IdempotencyHeader makes a repeated push answer as the first one did.
	IdempotencyHeader = "Idempotency-Key"
)

// ErrorBody is the body of a refusal.
type ErrorBody struct {
	Error string `json:"error"`
	// RequiresApproval is set when a grant exists that asks for an approval.
	RequiresApproval bool `json:"requiresApproval,omitempty"`
	// BreakingReasons lists what a refused schema change takes away.
	BreakingReasons []string `json:"breakingReasons,omitempty"`
	// Errors lists the problems that error joins.
	Errors []string `json:"errors,omitempty"`
}
