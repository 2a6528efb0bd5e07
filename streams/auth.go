package streams

import (
	"time"
)

// Authenticator decides about external NATS clients. The access side implements it; the server calls it on the
// goroutine of the connecting client, several at once, and again for live connections after [Server.Recheck].
type Authenticator interface {
	// Authenticate checks the credentials of a connection. A client sends a user and a password, or a platform token
	// (as token, or as password together with its user name). The ingest key of a source comes as password of the
	// user ingest:<source>. Any error refuses the connection; its text is logged and never sent to the client.
	Authenticate(user, password, token string) (*Identity, error)
}

// Identity is who a connection is and what it may do. Subjects are literal subjects, or patterns with * and >.
type Identity struct {
	User string
	// Publish lists the subjects the user may publish to: its sources ([SourceSubject]) and the read subjects of
	// entities it may read ([TableReadSubject], [PipelineReadSubject]), whose replies come to its inbox.
	Publish []string
	// Subscribe lists the subjects the user may subscribe to besides its own inbox ([InboxPrefix]).
	Subscribe []string
	// Streams lists the streams whose messages the user may read by direct get ([SourceStream], [TableStream],
	// [ResultStream]). There are no other JetStream rights: a consumer makes the server deliver into a subject of
	// the client's choice, so clients get none.
	Streams []string
	// Expires ends the connection at that time, for a token; the zero time means never.
	Expires time.Time
}

// Violation is a publish or a subscription that the server refused.
type Violation struct {
	Time    time.Time
	User    string
	Remote  string // host and port of the client
	Subject string
	Publish bool // else it was a subscription
}
