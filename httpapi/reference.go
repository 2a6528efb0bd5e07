package httpapi

import (
	"bytes"
	"fmt"
	"reflect"
	"sort"
	"strings"
)

// Registered lists the routes of the router as "METHOD path", sorted, without the console's catch-all.
func (a *API) Registered() []string {
	var out []string
	for _, r := range a.echo.Routes() {
		if !strings.HasSuffix(r.Path, "*") {
			out = append(out, r.Method+" "+r.Path)
		}
	}
	sort.Strings(out)
	return out
}

// Reference writes the route table as the page docs/rest.md.
func Reference() []byte {
	var b bytes.Buffer
	b.WriteString(`# REST

Written from the route table (` + "`go test ./httpapi -run TestReferencePageIsUpToDate -update`" + `); do not edit. The running server
has the same as OpenAPI 3.1 at ` + "`/openapi/v1.json`" + `, with every shape.

- JSON is camelCase, times are milliseconds since the epoch, enums travel as their names, absent optional values are
  ` + "`null`" + `. Unknown members of a request are ignored.
- A refusal is ` + "`{\"error\": text}`" + `. 401 and the 404 of an unknown entity have no body.
- Authenticate with ` + "`Authorization: Bearer <token>`" + ` from ` + "`POST /api/auth/login`" + `. A route asks for a role and for a grant; the
  grant is asked at the entity's name, before anyone learns whether the entity exists.
- ` + "`{key}`" + ` is an id or an exact name, ` + "`{id}`" + ` is an id only. Of several entities with one name none is picked: 409 lists
  their ids.
- ` + "`?env=`" + ` or the header ` + "`" + EnvironmentHeader + "`" + ` selects an environment; the query wins.
- Bodies above 32 MiB are 413. A request has 60 s.
`)
	tag := ""
	for _, r := range Routes() {
		if r.Tag != tag {
			tag = r.Tag
			fmt.Fprintf(&b, "\n## %s\n", strings.ToUpper(tag[:1])+tag[1:])
		}
		fmt.Fprintf(&b, "\n### %s %s\n\n%s %s\n", r.Method, r.documented(), r.Summary, r.permission())
		for _, p := range r.Query {
			fmt.Fprintf(&b, "- `?%s` %s%s: %s\n", p.Name, p.Type, byDefault(p.Default), p.Doc)
		}
		for _, p := range r.Headers {
			fmt.Fprintf(&b, "- header `%s`: %s\n", p.Name, p.Doc)
		}
		if r.Request != nil {
			fmt.Fprintf(&b, "- body: %s\n", typeText(reflect.TypeOf(r.Request)))
		}
		answer := "no body"
		switch {
		case r.Media != "":
			answer = r.Media
		case r.Response != nil:
			answer = typeText(reflect.TypeOf(r.Response))
		}
		fmt.Fprintf(&b, "- %d: %s\n", r.success(), answer)
		for _, s := range r.Also {
			fmt.Fprintf(&b, "- %d: %s\n", s.Code, s.Doc)
		}
	}
	return b.Bytes()
}

// documented is the path as a reader sees it: {id} where only an id is taken.
func (r Route) documented() string {
	p := pathParam.ReplaceAllString(r.Path, "{$1}")
	if r.Scope == PipelineID || r.Scope == TableID {
		p = strings.Replace(p, "{key}", "{id}", 1)
	}
	return p
}

func byDefault(v string) string {
	if v == "" {
		return ""
	}
	return " (" + v + ")"
}

// typeText names a type for a reader: the members of a struct, up to a handful, else its name.
func typeText(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		if t == rawMessage {
			return "`Row`"
		}
		return "list of " + typeText(t.Elem())
	case reflect.Map:
		return "object"
	case reflect.Struct:
	default:
		return t.Name()
	}
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" {
			names = append(names, name)
		}
	}
	const few = 10
	if len(names) > few {
		return "`" + strings.ToUpper(t.Name()[:1]) + t.Name()[1:] + "`"
	}
	return "`{" + strings.Join(names, ", ") + "}`"
}
