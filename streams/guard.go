package streams

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"slices"
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

	ready chan struct{} // closed by attach: external clients wait for it
	once  sync.Once
	ns    *server.Server

	mu      sync.Mutex
	conns   map[uint64]*client // external connections by their id
	sweepAt int                // size of conns at which the ended ones are removed

	violations    chan Violation
	refused, lost atomic.Uint64
	done          chan struct{}
	running       sync.WaitGroup
}

// client is what is known of an external connection.
type client struct {
	identity *Identity
	remote   string
	expiry   *time.Timer
}

// violationQueue is how many refused operations wait for the hook; one client can produce them faster than any
// store writes them, and the rest is counted.
const violationQueue = 256

func newGuard(o Options) *guard {
	var pw [24]byte
	rand.Read(pw[:]) // It never fails: the runtime ends the process instead.
	g := &guard{
		auth: o.Auth, log: o.Logger, systemUser: "$streamsforge", systemPassword: hex.EncodeToString(pw[:]),
		ready: make(chan struct{}), conns: map[uint64]*client{}, sweepAt: minSweep, done: make(chan struct{}),
		violations: make(chan Violation, violationQueue),
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

// attach lets external clients in, now that the server can be asked about them.
func (g *guard) attach(ns *server.Server) error {
	g.ns = ns
	close(g.ready)
	return nil
}

// close ends the hook. The server is down by then.
func (g *guard) close() {
	g.once.Do(func() { close(g.done) })
	g.running.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		c.stop()
	}
	clear(g.conns)
}

// Check implements server.Authentication.
func (g *guard) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	if o.Username == g.systemUser {
		if subtle.ConstantTimeCompare([]byte(o.Password), []byte(g.systemPassword)) != 1 {
			return false
		}
		c.RegisterUser(&server.User{Username: g.systemUser})
		return true
	}
	select {
	case <-g.ready:
	case <-g.done:
		return false
	}
	remote := ""
	if a := c.RemoteAddress(); a != nil {
		remote = a.String()
	}
	if g.auth == nil || c.Kind() != server.CLIENT {
		g.log.Info("nats: connection refused", "user", o.Username, "remote", remote, "error", "external clients are not accepted")
		return false
	}
	id, err := g.auth.Authenticate(o.Username, o.Password, o.Token)
	if err == nil && (id == nil || id.User == "" || id.User == g.systemUser) {
		err = ErrRefused
	}
	if err != nil {
		g.log.Info("nats: connection refused", "user", o.Username, "remote", remote, "error", err)
		return false
	}
	c.RegisterUser(&server.User{Username: id.User, Permissions: permissions(id)})
	g.remember(c.GetID(), id, remote)
	return true
}

// never lists what no external client may publish to, whatever a policy says: journals and the clock have one
// writer each, definitions and objects have none outside, and the JetStream API is only what Identity.Streams gives.
var never = []string{
	"$KV.>", "$O.>", "$SYS.>", "$SRV.>", "$JS.ACK.>", "$JS.FC.>",
	"$JS.API.STREAM.>", "$JS.API.CONSUMER.>", "$JS.API.META.>", "$JS.API.ACCOUNT.>", "$JS.API.SERVER.>", "$JS.API.INFO",
	"sf.ctl.>", "sf.audit.>", "sf.policy.>",
	"sf.*.table.*.delta", "sf.*.table.*.stage.>", "sf.*.pipeline.*.result", "sf.*.pipeline.*.late",
	"sf.*.quarantine.>", "sf.*.ingest.>", "sf.*.epochs", "sf.*.lifecycle", "sf.*.frontier.>", "sf.*.metrics.>", "sf.*.sink.>",
}

// permissions turns an identity into the server's lists. An empty allow-list would mean everything, so it is written
// as a denial of everything.
func permissions(id *Identity) *server.Permissions {
	pub := slices.Clone(id.Publish)
	for _, st := range id.Streams {
		pub = append(pub, "$JS.API.DIRECT.GET."+st, "$JS.API.DIRECT.GET."+st+".>")
	}
	p := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: pub, Deny: never},
		Subscribe: &server.SubjectPermission{Allow: append(slices.Clone(id.Subscribe), InboxPrefix(id.User)+".>")},
	}
	if len(pub) == 0 {
		p.Publish.Deny = []string{">"}
	}
	return p
}

// remember keeps what Recheck and the violation hook need. The server does not say when a connection ends, so the
// table is swept when it has doubled.
func (g *guard) remember(cid uint64, id *Identity, remote string) {
	c := &client{identity: id, remote: remote}
	if !id.Expires.IsZero() {
		c.expiry = time.AfterFunc(time.Until(id.Expires), func() { g.disconnect(cid, "the token has expired") })
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.conns) >= g.sweepAt {
		for cid, c := range g.conns {
			if g.ns.GetClient(cid) == nil {
				c.stop()
				delete(g.conns, cid)
			}
		}
		g.sweepAt = max(minSweep, 2*len(g.conns))
	}
	g.conns[cid] = c
}

const minSweep = 64

func (c *client) stop() {
	if c.expiry != nil {
		c.expiry.Stop()
	}
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
		if id == nil || !sameRights(id, old) {
			g.disconnect(cid, "the rights have changed")
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

// sameRights compares the lists as sets; a policy may list the same rights in another order.
func sameRights(a, b *Identity) bool {
	same := func(x, y []string) bool {
		x, y = slices.Clone(x), slices.Clone(y)
		slices.Sort(x)
		slices.Sort(y)
		return slices.Equal(slices.Compact(x), slices.Compact(y))
	}
	return same(a.Publish, b.Publish) && same(a.Subscribe, b.Subscribe) && same(a.Streams, b.Streams)
}

func (g *guard) disconnect(cid uint64, why string) {
	g.mu.Lock()
	c := g.conns[cid]
	delete(g.conns, cid)
	g.mu.Unlock()
	if c == nil {
		return
	}
	c.stop()
	if err := g.ns.DisconnectClientByID(cid); err == nil {
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
