package access

import (
	"context"
	"log/slog"
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
	// PolicyCache is how old the access document used for a decision may be; 10 s when 0.
	PolicyCache time.Duration

	Now    func() time.Time
	Logger *slog.Logger
}

// TokenLife is how long a token is good for; it is fixed.
const TokenLife = 12 * time.Hour

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
