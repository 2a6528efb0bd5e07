package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/project"
)

// Target is the server to which a project is deployed.
type Target struct {
	// URL is the base of its REST interface.
	URL string
	// Token is a bearer token; without one, User and Password log in.
	Token, User, Password string
	// Environment is the environment, "" for the default one.
	Environment string
	// DryRun says what would be done and does nothing.
	DryRun bool
	// NoStart leaves new entities stopped.
	NoStart bool
}

// deployTimeout bounds one request.
const deployTimeout = 30 * time.Second

// Deployed is what became of one model.
type Deployed struct {
	Kind   string `json:"kind"` // table or pipeline
	Name   string `json:"name"`
	Action string `json:"action"` // created, updated or unchanged
	Status string `json:"status,omitempty"`
}

// Deploy writes the models of a checked project to a server, in order of dependency: those that are pipelines as
// pipelines, all others as tables. Sources are not written: they must be there with the declared fields. Nothing is
// written when one of the models or sources does not fit.
func (o *Opened) Deploy(ctx context.Context, t Target) ([]Deployed, error) {
	statements, err := o.Checked.PlainStatements()
	if err != nil {
		return nil, err
	}
	c := &client{Target: t}
	if err := c.login(ctx); err != nil {
		return nil, err
	}
	var errs []error
	for _, s := range o.Checked.Project.Sources {
		errs = append(errs, c.sourceFits(ctx, s))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var out []Deployed
	for i, m := range o.Checked.Models {
		d, err := c.model(ctx, m, statements[i], o.Files.Sinks[m.Name])
		if err != nil {
			return out, fmt.Errorf("model %s: %w", m.Name, err)
		}
		out = append(out, d)
	}
	return out, nil
}

// client speaks REST.
type client struct{ Target }

// refusal is an answer that is not 2xx.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("the server answers %d: %s", r.status, r.text) }

func (c *client) do(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, deployTimeout)
	defer cancel()
	var r io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.URL, "/")+path, r)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.Environment != "" {
		req.Header.Set("X-StreamsForge-Environment", c.Environment)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxFile))
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		var e struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(text, &e) != nil || e.Error == "" {
			e.Error = http.StatusText(res.StatusCode)
		}
		return &refusal{res.StatusCode, e.Error}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

func (c *client) login(ctx context.Context) error {
	if c.Token != "" {
		return nil
	}
	if c.User == "" {
		return errors.New("nobody logs in: name a user, or give a token")
	}
	var out struct {
		Token string `json:"token"`
	}
	err := c.do(ctx, http.MethodPost, "/api/auth/login", map[string]string{"username": c.User, "password": c.Password}, &out)
	if err != nil {
		return fmt.Errorf("log in at %s as %q: %w", c.URL, c.User, err)
	}
	c.Token = out.Token
	return nil
}

// sourceFits compares a source of the project with that of the server.
func (c *client) sourceFits(ctx context.Context, s project.Source) error {
	var have struct {
		Fields []struct {
			Name    string `json:"name"`
			Type    string `json:"type"`
			IsArray bool   `json:"isArray"`
		} `json:"fields"`
		KeyFields []string `json:"keyFields"`
	}
	if err := c.do(ctx, http.MethodGet, "/api/sources/"+url.PathEscape(s.Name), nil, &have); isMissing(err) {
		return fmt.Errorf("source %s is not on the server: create it there with the fields of the project", s.Name)
	} else if err != nil {
		return fmt.Errorf("source %s: %w", s.Name, err)
	}
	for _, f := range s.Fields {
		found := false
		for _, h := range have.Fields {
			found = found || h.Name == f.Name && h.Type == f.Kind.String() && h.IsArray == f.IsArray
		}
		if !found {
			return fmt.Errorf("source %s of the server has no field %s of type %s: change it there, or in the project", s.Name, f.Name, f.Kind)
		}
	}
	if !slices.Equal(have.KeyFields, s.Key) {
		return fmt.Errorf("source %s of the server has the keyFields %v, the project has the key %v", s.Name, have.KeyFields, s.Key)
	}
	return nil
}

func isMissing(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.status == http.StatusNotFound
}

// model writes one model, when it is not there as it should be, and starts it.
func (c *client) model(ctx context.Context, m *project.Compiled, sql string, sink []byte) (Deployed, error) {
	d := Deployed{Kind: m.Mode.String(), Name: m.Name, Action: "unchanged"}
	path := "/api/tables"
	if m.Mode == engine.PipelineMode {
		path = "/api/pipelines"
	}
	have := map[string]any{}
	err := c.do(ctx, http.MethodGet, path+"/"+url.PathEscape(m.Name), nil, &have)
	if err != nil && !isMissing(err) {
		return d, err
	}
	switch {
	case err != nil:
		d.Action = "created"
		have = map[string]any{"name": m.Name, "description": ""}
	case have["sql"] != sql || sink != nil && !hasSink(have, sink):
		d.Action = "updated"
	}
	if c.DryRun {
		return d, nil
	}
	if d.Action != "unchanged" {
		have["sql"] = sql
		if sink != nil {
			have["sinks"] = []json.RawMessage{sink}
		}
		method, to := http.MethodPost, path
		if d.Action == "updated" {
			method, to = http.MethodPut, path+"/"+url.PathEscape(fmt.Sprint(have["id"]))
		}
		var written map[string]any
		if err := c.do(ctx, method, to, have, &written); err != nil {
			return d, err
		}
		have = written
	}
	if have["status"] != "Running" && !c.NoStart {
		var started map[string]any
		if err := c.do(ctx, http.MethodPost, path+"/"+url.PathEscape(fmt.Sprint(have["id"]))+"/start", nil, &started); err != nil {
			return d, err
		}
		have = started
	}
	d.Status = fmt.Sprint(have["status"])
	if d.Status == "Failed" {
		return d, fmt.Errorf("it does not start: %v", have["error"])
	}
	return d, nil
}

// hasSink reports whether the only sink of an entity has all settings of one. Secrets come masked, so a sink with one is
// written again.
func hasSink(entity map[string]any, sink []byte) bool {
	var want map[string]any
	list, ok := entity["sinks"].([]any)
	if json.Unmarshal(sink, &want) != nil || !ok || len(list) != 1 {
		return false
	}
	have, ok := list[0].(map[string]any)
	if !ok {
		return false
	}
	for k, v := range want {
		a, errA := json.Marshal(v)
		b, errB := json.Marshal(have[k])
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			return false
		}
	}
	return true
}
