package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ingestUser is the user name prefix under which the ingest key of a source logs in to NATS.
const ingestUser = "ingest:"

// Resource is one entity as a NATS connection sees it. The composition root lists them, because it knows how
// subjects and streams are named.
type Resource struct {
	Env, Kind, Name string // Kind is source, pipeline or table
	Tags            []string
	Write           []string // subjects that source.ingest may publish to
	Read            []string // subjects that <kind>.read may subscribe to
	Requests        []string // request subjects that <kind>.read may publish to
	Streams         []string // streams that <kind>.read may read
}

// Connection is who a NATS connection is and what it may do.
type Connection struct {
	User      string
	Publish   []string
	Subscribe []string
	Streams   []string
	Expires   time.Time // of the token; zero: never
}

// KeyCheck reports whether a secret is an ingest key of a source of the default environment.
type KeyCheck func(ctx context.Context, source, secret string) bool

// ConnectNATS authenticates a NATS client and lists its subjects. The client sends a user and a password; or a
// platform token, as token or as the password of its own user name; or an ingest key as the password of user
// "ingest:<source>". The error's text is for the log.
func (s *Service) ConnectNATS(ctx context.Context, address, user, password, token string, resources []Resource, check KeyCheck) (Connection, error) {
	if source, ok := strings.CutPrefix(user, ingestUser); ok && token == "" {
		if wait := s.throttle.wait(user, address, s.opt.Now()); wait > 0 {
			return Connection{}, &ThrottledError{RetryAfter: wait}
		}
		if check == nil || !check(ctx, source, password) {
			s.throttle.failed(user, address, s.opt.Now())
			return Connection{}, fmt.Errorf("ingest key of source '%s': %w", source, ErrCredentials)
		}
		c := Connection{User: user}
		for _, r := range resources {
			if r.Kind == "source" && r.Name == source && r.Env == "default" {
				c.Publish = append(c.Publish, r.Write...)
			}
		}
		return c, nil
	}
	p, err := s.natsPrincipal(ctx, address, user, password, token)
	if err != nil {
		return Connection{}, err
	}
	return s.connection(ctx, p, resources)
}

// RefreshNATS lists the subjects of a user that is connected already. The error says that the user may not be
// connected any more.
func (s *Service) RefreshNATS(ctx context.Context, username string, resources []Resource) (Connection, error) {
	p, err := s.principal(ctx, identity{username: username})
	if err != nil {
		return Connection{}, err
	}
	return s.connection(ctx, p, resources)
}

func (s *Service) connection(ctx context.Context, p Principal, resources []Resource) (Connection, error) {
	rights := s.Rights(ctx, p)
	if d := rights.Floor("default", Viewer); !d.Allowed {
		return Connection{}, errors.New(d.Reason)
	}
	c := Connection{User: p.Username, Expires: p.Expires}
	for _, r := range resources {
		may := func(action string) bool {
			return rights.Decide(Request{Env: r.Env, Action: action, Scope: r.Name, Tags: r.Tags}).Allowed
		}
		// Without grants the role decides, as on the push route.
		if r.Kind == "source" && may("source.ingest") && (!rights.Legacy() || rights.Floor(r.Env, Editor).Allowed) {
			c.Publish = append(c.Publish, r.Write...)
		}
		if may(r.Kind + ".read") {
			c.Subscribe = append(c.Subscribe, r.Read...)
			c.Publish = append(c.Publish, r.Requests...)
			c.Streams = append(c.Streams, r.Streams...)
		}
	}
	return c, nil
}

func (s *Service) natsPrincipal(ctx context.Context, address, user, password, token string) (Principal, error) {
	bearer := token
	if bearer == "" && strings.Count(password, ".") == 2 && strings.HasPrefix(password, "ey") {
		bearer = password
	}
	if bearer == "" {
		u, err := s.password(ctx, address, user, password)
		if err != nil {
			return Principal{}, err
		}
		return Principal{Username: u.Username, DisplayName: u.DisplayName, Role: u.Role}, nil
	}
	p, err := s.Verify(ctx, bearer)
	if err != nil {
		return Principal{}, err
	}
	if user != "" && user != p.Username {
		return Principal{}, fmt.Errorf("the token of '%s' was sent by user '%s': %w", p.Username, user, ErrToken)
	}
	return p, nil
}
