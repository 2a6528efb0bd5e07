package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"
)

// Bucket is the part of a typed KV bucket that access needs. Get reports false for a missing key. Put stores when
// the entry is at the expected revision; 0 means that it must not exist. A lost race is ErrRevision.
type Bucket[T any] interface {
	Get(ctx context.Context, key string) (value T, revision uint64, ok bool, err error)
	Put(ctx context.Context, key string, value T, expect uint64) (uint64, error)
	Delete(ctx context.Context, key string, expect uint64) error
	Keys(ctx context.Context) ([]string, error)
}

// Errors that callers branch on.
var (
	// ErrRevision is a lost compare-and-set: read again and repeat.
	ErrRevision = errors.New("changed by someone else at the same time")
	// ErrCredentials refuses a login. It is the same for a wrong name and a wrong password.
	ErrCredentials = errors.New("wrong user name or password")
	// ErrNoUser says that there is no login of that name.
	ErrNoUser = errors.New("no such user")
)

// ThrottledError refuses a login because of too many failures.
type ThrottledError struct{ RetryAfter time.Duration }

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many failed logins; try again in %d s", int(e.RetryAfter.Seconds())+1)
}

// Options configure a Service.
type Options struct {
	Users    Bucket[UserRecord] // SF_users, keyed by EncodeKey(username)
	Document Bucket[Document]   // SF_access, key "document"

	Key      []byte // HS256 signing key, at least 32 bytes
	Issuer   string // "streamsforge" when empty
	Audience string // "streamsforge" when empty

	// Legacy turns grants off: the stored role alone decides.
	Legacy bool
	// LaxViewer lets a disabled user pass the Viewer floor (Auth:StrictViewer=false).
	LaxViewer bool
	// PolicyCache is how old the access document and the user used for a decision may be; 10 s when 0.
	PolicyCache time.Duration
	// Changed, when set, is called after a write that can take rights away: with the user it concerns, or "" for
	// everyone. Live connections are to be checked again.
	Changed func(username string)

	Now    func() time.Time
	Logger *slog.Logger
}

// TokenLife is how long a token is good for; it is fixed.
const TokenLife = 12 * time.Hour

const minKeyBytes = 32

// Session is a successful login.
type Session struct {
	Token       string `json:"token"`
	Username    string `json:"username"`
	DisplayName string `json:"displayName"`
	Role        Role   `json:"role"`
}

// UserRecord is a login as it is stored.
type UserRecord struct {
	User
	Hash             []byte  `json:"hash"`
	Salt             []byte  `json:"salt"`
	Iterations       int     `json:"iterations"`
	ExternalSubject  *string `json:"externalSubject"`
	IdentityProvider *string `json:"identityProvider"`
	// Demo marks a seeded login whose password is public knowledge; the server says so loudly while one is alive.
	Demo bool `json:"demo,omitempty"`
}

// Service answers who someone is and what they may do. It is safe for concurrent use.
type Service struct {
	opt      Options
	throttle *throttle
	hashing  chan struct{} // bounds the password hashes computed at once

	mu       sync.Mutex
	document cached[Document]
	users    map[string]cached[UserRecord]
}

type cached[T any] struct {
	value T
	ok    bool // the entry exists
	until time.Time
}

// maxCachedUsers bounds the memory that unknown names in valid tokens can take.
const maxCachedUsers = 10_000

// New makes a Service. It reads nothing yet.
func New(o Options) (*Service, error) {
	if len(o.Key) < minKeyBytes {
		return nil, fmt.Errorf("the signing key Jwt:Key has %d bytes: at least %d are needed", len(o.Key), minKeyBytes)
	}
	if o.Issuer == "" {
		o.Issuer = "streamsforge"
	}
	if o.Audience == "" {
		o.Audience = "streamsforge"
	}
	if o.PolicyCache == 0 {
		o.PolicyCache = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{
		opt: o, throttle: newThrottle(), hashing: make(chan struct{}, max(1, runtime.GOMAXPROCS(0))),
		users: map[string]cached[UserRecord]{},
	}, nil
}

// Login checks a password and issues a token. address is where the caller is, for throttling.
func (s *Service) Login(ctx context.Context, address, username, password string) (Session, error) {
	u, err := s.password(ctx, address, username, password)
	if err != nil {
		return Session{}, err
	}
	token, err := s.issue(u.User)
	if err != nil {
		return Session{}, fmt.Errorf("sign a token: %w", err)
	}
	return Session{Token: token, Username: u.Username, DisplayName: u.DisplayName, Role: u.Role}, nil
}

// password checks a name and a password. Unknown names take as long as known ones.
func (s *Service) password(ctx context.Context, address, username, password string) (UserRecord, error) {
	if wait := s.throttle.wait(username, address, s.opt.Now()); wait > 0 {
		return UserRecord{}, &ThrottledError{RetryAfter: wait}
	}
	var u UserRecord
	ok := false
	if username != "" && len(username) <= maxUsername {
		var err error
		if u, _, ok, err = s.opt.Users.Get(ctx, EncodeKey(username)); err != nil {
			return UserRecord{}, fmt.Errorf("read user: %w", err)
		}
	}
	if !ok || len(u.Hash) == 0 {
		ok, u = false, nobody
	}
	select {
	case s.hashing <- struct{}{}:
		defer func() { <-s.hashing }()
	case <-ctx.Done():
		return UserRecord{}, ctx.Err()
	}
	if right := u.matches(password); !right || !ok {
		s.throttle.failed(username, address, s.opt.Now())
		return UserRecord{}, ErrCredentials
	}
	return u, nil
}

// Verify turns a token into a principal. The role is the stored one, not the token's: a changed role counts at once.
// A token of a user that is gone is still a valid token; it holds no rights (see Rights).
func (s *Service) Verify(ctx context.Context, token string) (Principal, error) {
	id, err := s.verify(token)
	if err != nil {
		return Principal{}, err
	}
	return s.principal(ctx, id)
}

func (s *Service) principal(ctx context.Context, id identity) (Principal, error) {
	p := Principal{Username: id.username, DisplayName: id.display, Role: id.role, Expires: id.expires, TokenID: id.id}
	u, ok, err := s.user(ctx, id.username)
	switch {
	case err != nil:
		return Principal{}, fmt.Errorf("read user: %w", err)
	case !ok:
		p.Gone, p.Role = true, ""
	default:
		p.DisplayName, p.Role = u.DisplayName, u.Role
	}
	return p, nil
}

// user reads a login through the cache.
func (s *Service) user(ctx context.Context, username string) (UserRecord, bool, error) {
	now := s.opt.Now()
	s.mu.Lock()
	c, hit := s.users[username]
	s.mu.Unlock()
	if hit && now.Before(c.until) {
		return c.value, c.ok, nil
	}
	u, _, ok, err := s.opt.Users.Get(ctx, EncodeKey(username))
	if err != nil {
		return UserRecord{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.users) >= maxCachedUsers {
		clear(s.users)
	}
	s.users[username] = cached[UserRecord]{value: u, ok: ok, until: now.Add(s.opt.PolicyCache)}
	return u, ok, nil
}

// Policy reads the access document through the cache. When the store cannot be read, the newest known document
// counts; before the first read, the built-in roles.
func (s *Service) Policy(ctx context.Context) *Document {
	now := s.opt.Now()
	s.mu.Lock()
	c := s.document
	s.mu.Unlock()
	if c.ok && now.Before(c.until) {
		return &c.value
	}
	d, _, ok, err := s.opt.Document.Get(ctx, documentKey)
	switch {
	case err != nil && c.ok:
		s.opt.Logger.Warn("the access document cannot be read; the last known one is used", "error", err)
		return &c.value
	case err != nil:
		s.opt.Logger.Warn("the access document cannot be read; the built-in roles are used", "error", err)
		return &Document{Roles: BuiltInRoles()}
	case !ok:
		d = Document{Roles: BuiltInRoles()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.document.ok || d.Version >= s.document.value.Version {
		s.document = cached[Document]{value: d, ok: true, until: now.Add(s.opt.PolicyCache)}
	}
	return &d
}

func (s *Service) forget(username string) {
	s.mu.Lock()
	delete(s.users, username)
	s.document.until = time.Time{}
	s.mu.Unlock()
	if s.opt.Changed != nil {
		s.opt.Changed(username)
	}
}
