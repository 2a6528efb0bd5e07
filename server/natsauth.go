package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/streams"
)

// authTimeout bounds one decision about a NATS client: the server waits for it while the
// client connects.
const authTimeout = 5 * time.Second

// natsAuth lets the platform's users connect to NATS with the rights that they have over
// REST. The log is open before users can be read, so it starts by refusing everybody.
type natsAuth struct {
	parts atomic.Pointer[authParts]
}

type authParts struct {
	access  *access.Service
	catalog *catalog.Store
}

var (
	_ streams.Authenticator = (*natsAuth)(nil)
	_ streams.Refresher     = (*natsAuth)(nil)
)

var errStarting = errors.New("the server is starting")

func (a *natsAuth) attach(s *access.Service, c *catalog.Store) { a.parts.Store(&authParts{s, c}) }

// Authenticate implements streams.Authenticator.
func (a *natsAuth) Authenticate(user, password, token string) (*streams.Identity, error) {
	p := a.parts.Load()
	if p == nil {
		return nil, errStarting
	}
	ctx, cancel := context.WithTimeout(context.Background(), authTimeout)
	defer cancel()
	resources, err := natsResources(p.catalog)
	if err != nil {
		return nil, err
	}
	c, err := p.access.ConnectNATS(ctx, "nats", user, password, token, resources, func(ctx context.Context, source, secret string) bool {
		return p.catalog.MatchIngestKey(ctx, catalog.DefaultEnvironment, source, secret)
	})
	if err != nil {
		return nil, err
	}
	return identityOf(c, resources), nil
}

// ingestUser is the prefix of the user under which a source's ingest key logs in.
const ingestUser = "ingest:"

// Refresh implements streams.Refresher.
func (a *natsAuth) Refresh(user string) (*streams.Identity, error) {
	p := a.parts.Load()
	if p == nil {
		return nil, errStarting
	}
	resources, err := natsResources(p.catalog)
	if err != nil {
		return nil, err
	}
	if source, ok := strings.CutPrefix(user, ingestUser); ok {
		return ingestIdentity(p.catalog, user, source)
	}
	ctx, cancel := context.WithTimeout(context.Background(), authTimeout)
	defer cancel()
	c, err := p.access.RefreshNATS(ctx, user, resources)
	if err != nil {
		return nil, err
	}
	return identityOf(c, resources), nil
}

// ingestIdentity is what a holder of an ingest key may do. The key itself is not at hand
// any more: a source without keys has no holders, and a connection that used a deleted key
// beside other keys ends with its next login.
func ingestIdentity(c *catalog.Store, user, source string) (*streams.Identity, error) {
	keys, err := c.IngestKeys(catalog.DefaultEnvironment, source)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("source %s has no ingest keys any more", source)
	}
	return &streams.Identity{User: user, Publish: []string{streams.SourceSubject(catalog.DefaultEnvironment, source)}}, nil
}

func identityOf(c access.Connection, resources []access.Resource) *streams.Identity {
	var write, read []string
	for _, r := range resources {
		write, read = append(append(write, r.Write...), r.Requests...), append(read, r.Read...)
	}
	return &streams.Identity{
		User: c.User, Publish: widen(c.Publish, write), Subscribe: widen(c.Subscribe, read), Streams: c.Streams, Expires: c.Expires,
	}
}

// widen puts a wildcard in the place of the subjects it covers. It is dropped instead when
// one of the existing subjects that it covers was not granted: somebody is kept out of that
// entity, and a wildcard would let them in.
func widen(granted, existing []string) []string {
	has := map[string]bool{}
	for _, g := range granted {
		has[g] = true
	}
	covered := map[string]bool{}
	for _, w := range granted {
		if !isWildcard(w) {
			continue
		}
		var under []string
		whole := true
		for _, e := range existing {
			if !isWildcard(e) && server.SubjectsCollide(w, e) {
				under = append(under, e)
				whole = whole && has[e]
			}
		}
		if !whole {
			covered[w] = true
			continue
		}
		for _, u := range under {
			covered[u] = true
		}
	}
	var out []string
	for _, g := range granted {
		if !covered[g] {
			out = append(out, g)
		}
	}
	return out
}

func isWildcard(subject string) bool { return strings.Contains(subject, "*") }

// everything is the name of the resource that stands for all of a kind. Whoever has the
// right on it has it on entities that do not exist yet, so that a new source can be
// published to without a new connection.
const everything = "*"

// The reads that the micro service answers; see docs/adr/0002.
var (
	tableReads    = []string{"rows", "search", "shard", "history", "metrics", "replay"}
	pipelineReads = []string{"results", "metrics", "replay"}
)

func each(verbs []string, subject func(verb string) string) []string {
	out := make([]string, len(verbs))
	for i, v := range verbs {
		out[i] = subject(v)
	}
	return out
}

// natsResources lists what NATS clients can be given rights on.
func natsResources(store *catalog.Store) ([]access.Resource, error) {
	var out []access.Resource
	for _, env := range store.Environments() {
		sn, err := store.Snapshot(env.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, wildcards(env.Name)...)
		for _, s := range sn.Sources() {
			subject := streams.SourceSubject(env.Name, s.Name)
			out = append(out, access.Resource{
				Env: env.Name, Kind: "source", Name: s.Name, Tags: s.Tags,
				Write: []string{subject}, Read: []string{subject}, Streams: []string{streams.SourceStream(env.Name, s.Name)},
			})
		}
		for _, p := range sn.Pipelines() {
			out = append(out, access.Resource{
				Env: env.Name, Kind: "pipeline", Name: p.Name, Tags: p.Tags,
				Read: []string{streams.ResultSubject(env.Name, p.ID)}, Streams: []string{streams.ResultStream(env.Name, p.ID)},
				Requests: each(pipelineReads, func(verb string) string { return streams.PipelineReadSubject(env.Name, p.ID, verb) }),
			})
		}
		for _, t := range sn.Tables() {
			out = append(out, access.Resource{
				Env: env.Name, Kind: "table", Name: t.Name, Tags: t.Tags,
				Read: []string{streams.DeltaSubject(env.Name, t.Name)}, Streams: []string{streams.TableStream(env.Name, t.ID)},
				Requests: each(tableReads, func(verb string) string { return streams.TableReadSubject(env.Name, t.Name, verb) }),
			})
		}
	}
	return out, nil
}

// wildcards are the resources that stand for all of a kind.
func wildcards(env string) []access.Resource {
	prefix := "sf." + streams.Encode(env) + "."
	return []access.Resource{
		{Env: env, Kind: "source", Name: everything, Write: []string{prefix + "source.*"}, Read: []string{prefix + "source.*"}},
		{
			Env: env, Kind: "pipeline", Name: everything, Read: []string{prefix + "pipeline.*.result"},
			Requests: each(pipelineReads, func(verb string) string { return prefix + "pipeline.*." + verb }),
		},
		{
			Env: env, Kind: "table", Name: everything, Read: []string{prefix + "table.*.delta"},
			Requests: each(tableReads, func(verb string) string { return prefix + "table.*." + verb }),
		},
	}
}
