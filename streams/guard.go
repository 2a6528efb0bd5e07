package streams

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// guard is the server's authentication: this process with a random password, everybody else by the [Authenticator].
type guard struct {
	auth           Authenticator
	log            *slog.Logger
	systemUser     string
	systemPassword string

	kick func(cid uint64) error // closes a connection of the server

	mu      sync.Mutex
	tickets map[string]*ticket // by secret
	conns   map[uint64]*ticket // by the server's number

	violations    chan Violation
	refused, lost atomic.Uint64
	done          chan struct{}
	once          sync.Once
	running       sync.WaitGroup
}

// violationQueue is how many refused operations wait for the hook; one client can produce them faster than any
// store writes them, and the rest is counted.
const violationQueue = 256

func newGuard(o Options) *guard {
	g := &guard{
		auth: o.Auth, log: o.Logger, systemUser: "$streamsforge", systemPassword: newSecret(),
		tickets: map[string]*ticket{}, conns: map[uint64]*ticket{},
		violations: make(chan Violation, violationQueue), done: make(chan struct{}),
	}
	if o.Violations == nil {
		g.violations = nil
	} else {
		g.running.Go(func() {
			for {
				select {
				case v := <-g.violations:
					o.Violations(v)
				case <-g.done:
					return
				}
			}
		})
	}
	return g
}

// close ends the hook. The server is down by then.
func (g *guard) close() {
	g.once.Do(func() { close(g.done) })
	g.running.Wait()
}

// ticketUser is the name under which the gate presents external clients to the server.
const ticketUser = "$ticket"

// ticket is the admission of one external connection.
type ticket struct {
	secret   string
	identity *Identity
	remote   string
	cid      uint64 // the server's number of the connection; 0 before it has come
	expiry   *time.Timer
}

func newSecret() string {
	var b [24]byte
	rand.Read(b[:]) // It never fails: the runtime ends the process instead.
	return hex.EncodeToString(b[:])
}

// admit asks the Authenticator about a client, for the gate. Every refusal is ErrRefused.
func (g *guard) admit(who credentials, remote string) (*ticket, error) {
	err := ErrRefused
	var id *Identity
	if g.auth != nil {
		id, err = g.auth.Authenticate(who.User, who.Password, who.Token)
		if err == nil && (id == nil || id.User == "") {
			err = ErrRefused
		}
	}
	if err != nil {
		g.log.Info("nats: connection refused", "user", who.User, "remote", remote, "error", err)
		return nil, ErrRefused
	}
	t := &ticket{secret: newSecret(), identity: id, remote: remote}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tickets[t.secret] = t
	return t, nil
}

// forget ends an admission: the connection is gone.
func (g *guard) forget(t *ticket) {
	if t == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.tickets, t.secret)
	delete(g.conns, t.cid)
	if t.expiry != nil {
		t.expiry.Stop()
	}
}

// Check implements server.Authentication: the connections of this process have its password, those of the gate a
// ticket, and there are no others.
func (g *guard) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	switch o.Username {
	case g.systemUser:
		if subtle.ConstantTimeCompare([]byte(o.Password), []byte(g.systemPassword)) != 1 {
			return false
		}
		c.RegisterUser(&server.User{Username: g.systemUser})
		return true
	case ticketUser:
		cid := c.GetID()
		g.mu.Lock()
		defer g.mu.Unlock()
		t := g.tickets[o.Password]
		if t == nil || t.cid != 0 {
			return false
		}
		t.cid = cid
		g.conns[cid] = t
		c.RegisterUser(&server.User{Username: t.identity.User, Permissions: permissions(t.identity)})
		if at := t.identity.Expires; !at.IsZero() {
			t.expiry = time.AfterFunc(time.Until(at), func() { g.disconnect(cid, "the token has expired") })
		}
		return true
	}
	return false
}

// never lists what no external client may publish to, whatever a policy says: journals and the clock have one
// writer each, definitions and objects have none outside, and the JetStream API is only what Identity.Streams gives.
var never = []string{
	"$KV.>", "$O.>", "$SYS.>", "$JS.ACK.>", "$JS.FC.>",
	"$JS.API.STREAM.>", "$JS.API.CONSUMER.>", "$JS.API.META.>", "$JS.API.ACCOUNT.>", "$JS.API.SERVER.>", "$JS.API.INFO",
	"sf.ctl.>", "sf.audit.>", "sf.policy.>",
	"sf.*.table.*.delta", "sf.*.table.*.stage.>", "sf.*.pipeline.*.result", "sf.*.pipeline.*.late",
	"sf.*.quarantine.>", "sf.*.ingest.>", "sf.*.epochs", "sf.*.lifecycle", "sf.*.frontier.>", "sf.*.metrics.>", "sf.*.sink.>",
}

// discovery is how a client that may read asks which services there are and what they answer: `nats micro ls`. It
// only asks; nobody but the server may listen to these subjects.
var discovery = []string{"$SRV.PING", "$SRV.PING.>", "$SRV.INFO", "$SRV.INFO.>", "$SRV.STATS", "$SRV.STATS.>"}

// neverRead is the same for subscriptions: what processes say to each other.
var neverRead = []string{"sf.ctl.>", "sf.audit.>", "sf.policy.>"}

// ours keeps the subjects of the product. Nothing else is ever granted by a list: not the JetStream API, not buckets.
func ours(subjects []string) []string {
	return slices.DeleteFunc(slices.Clone(subjects), func(s string) bool { return !strings.HasPrefix(s, "sf.") })
}

// permissions turns an identity into the server's lists. An empty allow-list would mean everything, so it is written
// as a denial of everything.
func permissions(id *Identity) *server.Permissions {
	pub := ours(id.Publish)
	for _, st := range id.Streams {
		if strings.HasPrefix(st, "SF_") && !strings.ContainsAny(st, "*>. ") { // Never a bucket, never several at once.
			pub = append(pub, "$JS.API.DIRECT.GET."+st, "$JS.API.DIRECT.GET."+st+".>")
		}
	}
	if len(ours(id.Subscribe)) > 0 {
		pub = append(pub, discovery...)
	}
	p := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: pub, Deny: never},
		Subscribe: &server.SubjectPermission{Allow: append(ours(id.Subscribe), InboxPrefix(id.User)+".>"), Deny: neverRead},
	}
	if len(pub) == 0 {
		p.Publish.Deny = []string{">"}
	}
	return p
}

// Refresher is an optional ability of an [Authenticator]: the present identity of a user whose connection was
// accepted before. Without it, Recheck closes the connections.
type Refresher interface {
	// Refresh says what the user may do now; an error closes its connections.
	Refresh(user string) (*Identity, error)
}

func (g *guard) recheck(user string) {
	r, _ := g.auth.(Refresher)
	now := map[string]*Identity{} // one question a user, however many connections it has
	for cid, old := range g.live(user) {
		if r == nil {
			g.disconnect(cid, "the rights were checked again")
			continue
		}
		id, asked := now[old.User]
		if !asked {
			var err error
			if id, err = r.Refresh(old.User); err != nil {
				id = nil
			}
			now[old.User] = id
		}
		if id == nil || !covers(id, old) {
			g.disconnect(cid, "rights were taken away")
		}
	}
}

// live is a copy, as the questions about it may take long.
func (g *guard) live(user string) map[uint64]*Identity {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := map[uint64]*Identity{}
	for cid, c := range g.conns {
		if user == "" || c.identity.User == user {
			m[cid] = c.identity
		}
	}
	return m
}

// covers says whether an identity still has every right of an older one. A connection that would only gain rights is
// left alone, so that a new source does not make every publisher connect again; it gets them when it does.
func covers(now, old *Identity) bool {
	within := func(old, now []string) bool {
		return !slices.ContainsFunc(old, func(o string) bool {
			return !slices.ContainsFunc(now, func(n string) bool { return subsetOf(o, n) })
		})
	}
	return within(old.Publish, now.Publish) && within(old.Subscribe, now.Subscribe) && within(old.Streams, now.Streams)
}

// subsetOf says whether every subject that matches a also matches b.
func subsetOf(a, b string) bool {
	for {
		ta, ra, moreA := strings.Cut(a, ".")
		tb, rb, moreB := strings.Cut(b, ".")
		switch {
		case tb == ">":
			return true
		case ta == ">" || ta != tb && tb != "*":
			return false
		case !moreA || !moreB:
			return moreA == moreB
		}
		a, b = ra, rb
	}
}

func (g *guard) disconnect(cid uint64, why string) {
	g.mu.Lock()
	c := g.conns[cid]
	g.mu.Unlock()
	if c == nil {
		return
	}
	if err := g.kick(cid); err == nil {
		g.log.Info("nats: connection closed", "user", c.identity.User, "remote", c.remote, "reason", why)
	}
}

// violation is called by the server's log on the goroutine of the client.
func (g *guard) violation(cid uint64, subject string, publish bool) {
	g.mu.Lock()
	c := g.conns[cid]
	g.mu.Unlock()
	if c == nil {
		return // One of our own connections never gets here: it has every right.
	}
	g.refused.Add(1)
	if g.violations == nil {
		return
	}
	select {
	case g.violations <- Violation{Time: time.Now(), User: c.identity.User, Remote: c.remote, Subject: subject, Publish: publish}:
	default:
		g.lost.Add(1)
	}
}

// Refusals counts the operations of external clients that were refused, and how many of them the Violations hook
// missed because it was slower than they came.
func (s *Server) Refusals() (refused, missed uint64) {
	return s.guard.refused.Load(), s.guard.lost.Load()
}
