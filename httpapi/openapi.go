package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

var pathParam = regexp.MustCompile(`:([A-Za-z]+)`)

// paramDocs says what the parameters of paths are.
var paramDocs = map[string]string{
	"name":     "name of the source",
	"username": "name of the login",
	"key":      "id or exact name",
	"keyId":    "id of the ingest key",
}

// buildDocument derives the OpenAPI 3.1 document from the route table and checks it.
func buildDocument(routes []Route) ([]byte, error) {
	s := &schemas{components: openapi3.Schemas{}}
	doc := &openapi3.T{
		OpenAPI: "3.1.0",
		Info: &openapi3.Info{
			Title: "StreamsForge", Version: "v1",
			Description: "Streaming SQL over NATS JetStream. Times are milliseconds since the epoch, enums travel as their names, absent optional values are null. Refusals are `{\"error\": text}`; 401 and the 404 of an unknown entity have no body.",
			License:     &openapi3.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Paths: openapi3.NewPaths(),
		Components: &openapi3.Components{
			Schemas: s.components,
			SecuritySchemes: openapi3.SecuritySchemes{
				"bearer":    {Value: openapi3.NewJWTSecurityScheme()},
				"ingestKey": {Value: openapi3.NewSecurityScheme().WithType("apiKey").WithIn("header").WithName(IngestKeyHeader)},
			},
		},
	}
	s.of(reflect.TypeFor[ErrorBody](), false, false)
	for _, r := range routes {
		path := pathParam.ReplaceAllString(r.Path, "{$1}")
		item := doc.Paths.Value(path)
		if item == nil {
			item = &openapi3.PathItem{}
			doc.Paths.Set(path, item)
		}
		item.SetOperation(r.Method, r.operation(s))
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("BUG: the OpenAPI document does not encode: %w", err)
	}
	loaded, err := openapi3.NewLoader().LoadFromData(b)
	if err != nil {
		return nil, fmt.Errorf("BUG: the OpenAPI document does not load: %w", err)
	}
	if err := loaded.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("BUG: the OpenAPI document is not valid: %w", err)
	}
	return b, nil
}

// operationID is a name for generated clients: getTablesKeyRows.
func (r Route) operationID() string {
	var b strings.Builder
	b.WriteString(strings.ToLower(r.Method))
	for _, part := range strings.FieldsFunc(strings.TrimPrefix(r.Path, "/api"), func(c rune) bool { return c == '/' || c == ':' || c == '.' || c == '_' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	if strings.HasPrefix(r.Path, "/api/healthz") {
		b.WriteString("Api")
	}
	return b.String()
}

func (r Route) operation(s *schemas) *openapi3.Operation {
	op := &openapi3.Operation{
		OperationID: r.operationID(), Summary: r.Summary, Tags: []string{r.Tag}, Description: r.permission(),
		Responses: openapi3.NewResponsesWithCapacity(8),
	}
	for _, m := range pathParam.FindAllStringSubmatch(r.Path, -1) {
		doc := paramDocs[m[1]]
		if m[1] == "key" && (r.Scope == PipelineID || r.Scope == TableID) {
			doc = "id; a name is not accepted by writes"
		}
		op.AddParameter(openapi3.NewPathParameter(m[1]).WithDescription(doc).WithSchema(openapi3.NewStringSchema()))
	}
	for _, p := range r.Query {
		op.AddParameter(p.parameter(openapi3.NewQueryParameter(p.Name)))
	}
	for _, p := range r.Headers {
		op.AddParameter(p.parameter(openapi3.NewHeaderParameter(p.Name)))
	}
	if !r.NoEnvironment {
		op.AddParameter(openapi3.NewQueryParameter("env").WithDescription("environment; wins over the header " + EnvironmentHeader).WithSchema(openapi3.NewStringSchema()))
	}
	if r.Request != nil {
		op.RequestBody = &openapi3.RequestBodyRef{Value: openapi3.NewRequestBody().WithRequired(r.Path != "/api/sources/:name/quarantine/replay").
			WithJSONSchemaRef(s.of(reflect.TypeOf(r.Request), true, false))}
	}
	r.responses(s, op)
	switch {
	case r.Path == "/api/sources/:name/events" && r.Method == http.MethodPost:
		op.Security = openapi3.NewSecurityRequirements().With(openapi3.NewSecurityRequirement().Authenticate("bearer")).
			With(openapi3.NewSecurityRequirement().Authenticate("ingestKey"))
	case r.Floor != "":
		op.Security = openapi3.NewSecurityRequirements().With(openapi3.NewSecurityRequirement().Authenticate("bearer"))
	default:
		op.Security = openapi3.NewSecurityRequirements()
	}
	return op
}

func (p Param) parameter(out *openapi3.Parameter) *openapi3.Parameter {
	schema := &openapi3.Schema{Type: &openapi3.Types{p.Type}}
	switch p.Type {
	case "integer":
		if n, err := strconv.Atoi(p.Default); err == nil {
			schema.Default = n
		}
	case "boolean":
		schema.Default = p.Default == "true"
	}
	if p.Repeated {
		schema = &openapi3.Schema{Type: &openapi3.Types{"array"}, Items: inline(schema)}
	}
	return out.WithDescription(p.Doc).WithSchema(schema)
}

// permission says in words what the guard asks for.
func (r Route) permission() string {
	switch {
	case r.Floor == "" && r.Path == "/api/sources/:name/events":
		return "Role Editor with `source.ingest` on the source, or a key of the source."
	case r.Floor == "":
		return "Anonymous."
	case r.Action == "":
		return fmt.Sprintf("Role %s.", r.Floor)
	}
	at := map[Scope]string{
		Everything: "on `*`", SourceName: "on the source", PipelineKey: "on the pipeline", PipelineID: "on the pipeline",
		TableKey: "on the table", TableID: "on the table", UserName: "on the user name", InHandler: "on each entity, which filters",
	}[r.Scope]
	if r.Scope == InHandler && r.Method == http.MethodPost {
		at = "on each name in the body"
	}
	return fmt.Sprintf("Role %s and `%s` %s.", r.Floor, r.Action, at)
}

// statuses are all statuses of a route with their meaning: its own, and those that every route of its kind has.
func (r Route) statuses() []Status {
	out := append([]Status(nil), r.Also...)
	has := func(code int) bool {
		for _, s := range out {
			if s.Code == code {
				return true
			}
		}
		return false
	}
	add := func(s Status) {
		if !has(s.Code) {
			out = append(out, s)
		}
	}
	if r.Floor != "" {
		add(Status{Code: http.StatusUnauthorized, Doc: "no valid token"})
		add(Status{Code: http.StatusForbidden, Doc: "the caller may not; asked before existence", Body: ErrorBody{}})
	}
	if !r.NoEnvironment && !has(http.StatusNotFound) {
		add(Status{Code: http.StatusNotFound, Doc: "no such environment", Body: ErrorBody{}})
	}
	if len(r.Query) > 0 {
		add(refused("a parameter cannot be read"))
	}
	if r.Request != nil {
		add(Status{Code: http.StatusRequestEntityTooLarge, Doc: "the body is too large", Body: ErrorBody{}})
	}
	return out
}

func (r Route) responses(s *schemas, op *openapi3.Operation) {
	set := func(code int, doc string, body any, media string) {
		resp := openapi3.NewResponse().WithDescription(doc)
		if body != nil {
			schema := s.of(reflect.TypeOf(body), false, false)
			if media == "" {
				media = "application/json"
			}
			resp.Content = openapi3.Content{media: openapi3.NewMediaType().WithSchemaRef(schema)}
		}
		op.Responses.Set(strconv.Itoa(code), &openapi3.ResponseRef{Value: resp})
	}
	set(r.success(), http.StatusText(r.success()), r.Response, r.Media)
	for _, st := range r.statuses() {
		set(st.Code, st.Doc, st.Body, "")
	}
}
