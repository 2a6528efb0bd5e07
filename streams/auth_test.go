package streams_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

// users is an Authenticator with passwords, and tokens that begin with "token-".
type users struct {
	mu  sync.Mutex
	ids map[string]*streams.Identity
}

var (
	_ streams.Authenticator = (*users)(nil)
	_ streams.Refresher     = (*users)(nil)
)

func (u *users) Authenticate(user, password, token string) (*streams.Identity, error) {
	if name, is := strings.CutPrefix(token, "token-"); is {
		return u.Refresh(name)
	}
	if password != "secret" {
		return nil, streams.ErrRefused
	}
	return u.Refresh(user)
}

func (u *users) Refresh(user string) (*streams.Identity, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	id := u.ids[user]
	if id == nil {
		return nil, streams.ErrRefused
	}
	c := *id
	return &c, nil
}

func (u *users) set(user string, id *streams.Identity) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if id == nil {
		delete(u.ids, user)
		return
	}
	id.User = user
	u.ids[user] = id
}

// world is a server with a listener, two sources, a table and its users.
type world struct {
	*streams.Server
	users      *users
	a, b       *streams.Stream
	table      *streams.Stream
	violations chan streams.Violation
}

func newWorld(t *testing.T) *world {
	w := &world{users: &users{ids: map[string]*streams.Identity{}}, violations: make(chan streams.Violation, 100)}
	w.Server = streamstest.Open(t, func(o *streams.Options) {
		o.Listen, o.Auth = "127.0.0.1:0", w.users
		o.Violations = func(v streams.Violation) { w.violations <- v }
	})
	w.a = must(w.EnsureSource(t.Context(), "default", "a", streams.Limits{}))(t)
	w.b = must(w.EnsureSource(t.Context(), "default", "b", streams.Limits{}))(t)
	w.table = must(w.EnsureTable(t.Context(), "default", "t1", "sums", streams.Limits{}))(t)
	w.users.set("ann", &streams.Identity{
		Publish:   []string{w.a.Subject()},
		Subscribe: []string{w.a.Subject(), w.table.Subject()},
		Streams:   []string{w.a.Name(), w.table.Name()},
	})
	return w
}

// dial connects a user; refusals that the server reports come on the channel.
func (w *world) dial(t *testing.T, user string, opts ...nats.Option) (*nats.Conn, chan error) {
	t.Helper()
	errs := make(chan error, 100)
	opts = append([]nats.Option{
		nats.UserInfo(user, "secret"), nats.CustomInboxPrefix(streams.InboxPrefix(user)), nats.ReconnectWait(10 * time.Millisecond),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err }),
	}, opts...)
	c := must(nats.Connect("nats://"+w.Address(), opts...))(t)
	t.Cleanup(c.Close)
	return c, errs
}

func last(t *testing.T, st *streams.Stream) uint64 {
	t.Helper()
	return must(st.State(t.Context()))(t).Last
}

func TestAClientPublishesToItsSource(t *testing.T) {
	w := newWorld(t)
	c, _ := w.dial(t, "ann")
	js := must(jetstream.New(c))(t)
	for i := range 10 {
		ack := must(js.Publish(t.Context(), w.a.Subject(), []byte(`{"x":1}`)))(t)
		if ack.Sequence != uint64(i+1) {
			t.Fatalf("position %d, want %d", ack.Sequence, i+1)
		}
	}
	m := &nats.Msg{Subject: w.a.Subject(), Data: []byte("[1]"), Header: nats.Header{"Content-Type": {"application/json"}, "Nats-Msg-Id": {"one"}}}
	must(js.PublishMsg(t.Context(), m))(t)
	if ack := must(js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject, Data: m.Data, Header: m.Header}))(t); !ack.Duplicate || ack.Sequence != 11 {
		t.Fatalf("a repeated message id gets %+v, want a duplicate of 11", ack)
	}
	for range 1000 { // Core publishes: no acknowledgement; here nothing is fast enough to be dropped.
		ok(t, c.Publish(w.a.Subject(), []byte(`{"x":2}`)))
	}
	ok(t, c.Flush())
	eventually(t, "all core publishes are stored", func() bool { return last(t, w.a) == 1011 })
	if got := must(w.a.Get(t.Context(), 11))(t); got.Header.Get("Content-Type") != "application/json" || string(got.Data) != "[1]" {
		t.Fatalf("stored %q %q, want it as it was sent", got.Header, got.Data)
	}
}

func TestAClientReadsWhatItMay(t *testing.T) {
	w := newWorld(t)
	c, _ := w.dial(t, "ann")
	sub := must(c.SubscribeSync(w.table.Subject()))(t)
	ok(t, c.Flush())
	j := must(streams.OpenJournal(t.Context(), w.table, 1))(t)
	must(j.Append(t.Context(), streams.Entry{Epoch: 1, Data: []byte("delta")}))(t)
	if m := must(sub.NextMsg(10 * time.Second))(t); string(m.Data) != "delta" || m.Header.Get(streams.HeaderEpoch) != "1" {
		t.Fatalf("got %q %v", m.Data, m.Header)
	}
	for subject, request := range map[string]string{
		"$JS.API.DIRECT.GET." + w.table.Name():                           `{"seq":1}`,
		"$JS.API.DIRECT.GET." + w.table.Name() + "." + w.table.Subject(): "", // the last message of the subject
	} {
		m := must(c.Request(subject, []byte(request), 10*time.Second))(t)
		if string(m.Data) != "delta" || m.Header.Get("Nats-Sequence") != "1" {
			t.Fatalf("%s: got %q %v", subject, m.Data, m.Header)
		}
	}
}

// TestAReaderFindsTheServices asks for services as `nats micro ls` does. Who may read nothing is refused, and nobody
// outside can answer in the server's place.
func TestAReaderFindsTheServices(t *testing.T) {
	w := newWorld(t)
	svc := must(micro.AddService(w.Conn(), micro.Config{Name: "streamsforge", Version: "1.0.0"}))(t)
	defer svc.Stop()
	c, _ := w.dial(t, "ann")
	for _, subject := range []string{"$SRV.PING", "$SRV.INFO.streamsforge", "$SRV.STATS.streamsforge"} {
		if m := must(c.Request(subject, nil, 10*time.Second))(t); !strings.Contains(string(m.Data), `"name":"streamsforge"`) {
			t.Fatalf("%s: %q", subject, m.Data)
		}
	}
	w.users.set("writer", &streams.Identity{Publish: []string{w.a.Subject()}})
	for user, act := range map[string]func(*nats.Conn) error{
		"writer": func(c *nats.Conn) error { return c.Publish("$SRV.PING", nil) },
		"ann":    func(c *nats.Conn) error { _, err := c.SubscribeSync("$SRV.PING"); return err },
	} {
		c, errs := w.dial(t, user)
		ok(t, act(c))
		ok(t, c.Flush())
		select {
		case err := <-errs:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Fatalf("%s: %v", user, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s was not refused", user)
		}
	}
}

func TestTheServerAnswersReadsOfAClient(t *testing.T) {
	w := newWorld(t)
	rows := streams.TableReadSubject("default", "sums", "rows")
	svc := must(w.Conn().Subscribe(rows, func(m *nats.Msg) { _ = m.Respond([]byte("rows")) }))(t)
	defer svc.Unsubscribe()
	w.users.set("bob", &streams.Identity{Publish: []string{rows}})
	c, _ := w.dial(t, "bob")
	if m := must(c.Request(rows, nil, 10*time.Second))(t); string(m.Data) != "rows" {
		t.Fatalf("got %q", m.Data)
	}
}

func TestAClientIsRefusedWhatItMayNot(t *testing.T) {
	w := newWorld(t)
	w.users.set("all", &streams.Identity{Publish: []string{">", "sf.>"}, Subscribe: []string{">", "sf.>"}, Streams: []string{"*", "KV_SF_users"}}) // A policy may be mistaken.
	w.users.set("none", &streams.Identity{})
	for _, c := range []struct {
		user, subject string
		publish       bool
	}{
		{"ann", w.b.Subject(), true},
		{"ann", "sf.default.source.*", false},
		{"ann", ">", false},
		{"ann", w.b.Subject(), false},
		{"ann", "_INBOX.>", false},
		{"ann", streams.InboxPrefix("bob") + ".>", false},
		{"ann", "$JS.API.CONSUMER.CREATE." + w.a.Name(), true},
		{"ann", "$JS.API.STREAM.INFO." + w.a.Name(), true},
		{"ann", "$JS.API.DIRECT.GET." + w.b.Name(), true},
		{"ann", "$KV.SF_users.ann", true},
		{"none", w.a.Subject(), true},
		{"none", "x", true},
		{"none", w.a.Subject(), false},
		{"all", w.table.Subject(), true},
		{"all", streams.EpochsSubject("default"), true},
		{"all", streams.QuarantineSubject("default", "a"), true},
		{"all", "$KV.SF_users.ann", true},
		{"all", "$O.x.C.y", true},
		{"all", "$JS.API.CONSUMER.CREATE." + w.a.Name(), true},
		{"all", "$JS.API.STREAM.PURGE." + w.table.Name(), true},
		{"all", streams.ControlSubject("default", "table", "t", "fence"), true},
		{"all", "$SYS.REQ.SERVER.PING", true},
		{"all", "$JS.API.DIRECT.GET.KV_SF_users", true},
		{"all", "$KV.>", false},
		{"all", "sf.ctl.>", false},
	} {
		conn, errs := w.dial(t, c.user, nats.NoReconnect())
		if c.publish {
			ok(t, conn.Publish(c.subject, []byte("{}")))
		} else {
			must(conn.SubscribeSync(c.subject))(t)
		}
		ok(t, conn.Flush())
		select {
		case err := <-errs:
			wants(t, err, nats.ErrPermissionViolation)
		case <-time.After(10 * time.Second):
			t.Fatalf("%s on %q (publish %v) was not refused", c.user, c.subject, c.publish)
		}
		if v := <-w.violations; v.User != c.user || v.Subject != c.subject || v.Publish != c.publish || v.Remote == "" || v.Time.IsZero() {
			t.Fatalf("violation %+v, want %+v", v, c)
		}
		conn.Close()
	}
	for _, st := range []*streams.Stream{w.b, w.table} {
		if n := last(t, st); n != 0 {
			t.Errorf("stream %s has %d messages", st.Name(), n)
		}
	}
	if refused, missed := w.Refusals(); refused == 0 || missed != 0 {
		t.Errorf("%d refusals, %d missed", refused, missed)
	}
}

// The server checks the subject of a publish and not its reply, so without the gate the acknowledgement of an allowed
// publish could be sent into a journal.
func TestAReplyCannotWriteIntoAJournal(t *testing.T) {
	w := newWorld(t)
	system := w.Conn() // A client without the gate: this is the hole.
	ok(t, system.PublishRequest(w.a.Subject(), w.table.Subject(), []byte("{}")))
	eventually(t, "the server has put an acknowledgement into the journal", func() bool { return last(t, w.table) == 1 })

	before := last(t, w.a)
	c, errs := w.dial(t, "ann")
	for _, reply := range []string{w.table.Subject(), w.b.Subject(), "_INBOX.x", streams.InboxPrefix("bob") + ".x", streams.InboxPrefix("ann"), "$JS.API.STREAM.PURGE." + w.a.Name()} {
		for _, request := range []string{w.a.Subject(), "$JS.API.DIRECT.GET." + w.a.Name()} {
			ok(t, c.PublishRequest(request, reply, []byte(`{"seq":1}`)))
			ok(t, c.PublishMsg(&nats.Msg{Subject: request, Reply: reply, Data: []byte(`{"seq":1}`), Header: nats.Header{"A": {"b"}}}))
			ok(t, c.Flush())
			for range 2 {
				err := <-errs
				wants(t, err, nats.ErrPermissionViolation)
				if v := <-w.violations; v.Subject != reply || !v.Publish || v.User != "ann" {
					t.Fatalf("violation %+v, want of reply %q", v, reply)
				}
			}
		}
	}
	must(c.Request(w.a.Subject(), []byte("{}"), 10*time.Second))(t) // The connection still works.
	if a, table, b := last(t, w.a), last(t, w.table), last(t, w.b); a != before+1 || table != 1 || b != 0 {
		t.Fatalf("streams end at %d, %d, %d, want %d, 1, 0", a, table, b, before+1)
	}
}

// A push consumer delivers into a subject of its creator's choice: the reason why no external user may create one.
func TestAConsumerCannotWriteIntoAJournal(t *testing.T) {
	w := newWorld(t)
	must(w.a.Publish(t.Context(), []byte("forged"), nats.Header{streams.HeaderEpoch: {"1"}}))(t)
	create := "$JS.API.CONSUMER.CREATE." + w.a.Name() + ".evil"
	request, err := json.Marshal(map[string]any{"stream_name": w.a.Name(), "config": map[string]any{
		"name": "evil", "deliver_subject": w.table.Subject(), "ack_policy": "none", "deliver_policy": "all",
	}})
	ok(t, err)
	permissive := w.Conn()
	must(permissive.Request(create, request, 10*time.Second))(t)
	eventually(t, "the server has delivered a forged delta into the journal", func() bool { return last(t, w.table) == 1 })
	if m := must(w.table.Get(t.Context(), 1))(t); string(m.Data) != "forged" {
		t.Fatalf("the journal holds %q", m.Data)
	}

	c, errs := w.dial(t, "ann")
	if _, err := c.Request(strings.Replace(create, "evil", "evil2", 1), request, 300*time.Millisecond); !errors.Is(err, nats.ErrTimeout) {
		t.Fatalf("creating a consumer: %v, want silence", err)
	}
	wants(t, <-errs, nats.ErrPermissionViolation)
	// A durable by another spelling of the API, and a pull consumer, are no better.
	for _, s := range []string{"$JS.API.CONSUMER.DURABLE.CREATE." + w.a.Name() + ".evil3", "$JS.API.CONSUMER.CREATE." + w.a.Name()} {
		ok(t, c.Publish(s, request))
		ok(t, c.Flush())
		wants(t, <-errs, nats.ErrPermissionViolation)
	}
}

func TestConnectionsAreRefused(t *testing.T) {
	w := newWorld(t)
	for name, opts := range map[string][]nats.Option{
		"nobody":                   nil,
		"wrong password":           {nats.UserInfo("ann", "wrong")},
		"unknown user":             {nats.UserInfo("eve", "secret")},
		"wrong token":              {nats.Token("nonsense")},
		"the system's name":        {nats.UserInfo("$streamsforge", "secret")},
		"the gate's name":          {nats.UserInfo("$ticket", "secret")},
		"no user, only a password": {nats.UserInfo("", "secret")},
	} {
		if c, err := nats.Connect("nats://"+w.Address(), opts...); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v, want an authorization error", name, err)
			if err == nil {
				c.Close()
			}
		}
	}
}

func TestATokenIsAccepted(t *testing.T) {
	w := newWorld(t)
	c := must(nats.Connect("nats://"+w.Address(), nats.Token("token-ann"), nats.CustomInboxPrefix(streams.InboxPrefix("ann"))))(t)
	defer c.Close()
	must(c.Request(w.a.Subject(), []byte("{}"), 10*time.Second))(t)
}

func TestAConnectionEndsWithItsToken(t *testing.T) {
	w := newWorld(t)
	w.users.set("ann", &streams.Identity{Expires: time.Now().Add(50 * time.Millisecond)})
	closed := make(chan struct{})
	w.dial(t, "ann", nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Fatal("the connection outlived its token")
	}
}

func TestRecheckClosesWhatHasLostARight(t *testing.T) {
	w := newWorld(t)
	dropped := make(chan string, 10)
	handler := nats.DisconnectErrHandler(func(c *nats.Conn, _ error) { dropped <- c.Opts.User })
	w.users.set("bob", &streams.Identity{Publish: []string{"sf.default.source.*"}})
	w.dial(t, "ann", handler)
	bob, _ := w.dial(t, "bob", handler, nats.NoReconnect())

	w.users.set("ann", &streams.Identity{Publish: []string{"sf.*.source.*"}, Subscribe: []string{"sf.default.>"}, Streams: []string{w.table.Name(), w.a.Name()}})
	w.Recheck("") // Ann has gained rights, Bob has the same: nobody is disturbed.
	w.users.set("bob", &streams.Identity{Publish: []string{w.a.Subject(), w.b.Subject()}})
	w.Recheck("ann")
	if len(dropped) > 0 {
		t.Fatalf("%s was disconnected without a reason", <-dropped)
	}
	w.Recheck("bob")
	if who := <-dropped; who != "bob" {
		t.Fatalf("%s was disconnected, want bob", who)
	}
	eventually(t, "bob is closed", bob.IsClosed)
	w.users.set("ann", nil) // Disabled.
	w.Recheck("")
	if who := <-dropped; who != "ann" {
		t.Fatalf("%s was disconnected, want ann", who)
	}
}

// basic is an Authenticator without the optional ability.
type basic struct{ id streams.Identity }

func (b basic) Authenticate(string, string, string) (*streams.Identity, error) { return &b.id, nil }

func TestRecheckWithoutRefresherClosesTheUsersConnections(t *testing.T) {
	s := streamstest.Open(t, func(o *streams.Options) {
		o.Listen, o.Auth = "127.0.0.1:0", basic{streams.Identity{User: "ann"}}
	})
	closed := make(chan struct{})
	c := must(nats.Connect("nats://"+s.Address(), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) })))(t)
	defer c.Close()
	s.Recheck("somebody else")
	s.Recheck("ann")
	<-closed
}

func TestBrokenClientsAreDisconnected(t *testing.T) {
	w := newWorld(t)
	const hello = `CONNECT {"user":"ann","pass":"secret","headers":true}` + "\r\n"
	for name, text := range map[string]string{
		"another protocol":         "GET / HTTP/1.1\r\n\r\n",
		"no hello":                 "PUB sf.default.source.a 2\r\n{}\r\n",
		"hello is no JSON":         "CONNECT {\r\n",
		"two hellos":               hello + hello,
		"unknown verb":             hello + "RPUB a 2\r\n{}\r\n",
		"too few words":            hello + "PUB a\r\n",
		"too many words":           hello + "PUB a b c d e f 2\r\n{}\r\n",
		"size is no number":        hello + "PUB sf.default.source.a x\r\n",
		"size is negative":         hello + "PUB sf.default.source.a -1\r\n",
		"payload is longer":        hello + "PUB sf.default.source.a 2\r\n{}{}\r\n",
		"payload above the limit":  hello + "PUB sf.default.source.a 99999999\r\n" + strings.Repeat("x", 1000),
		"a line without end":       hello + "PUB " + strings.Repeat("x", 100_000),
		"a line that is too long":  hello + "PUB " + strings.Repeat("x", 10_000) + " 2\r\n{}\r\n",
		"bytes":                    "\x00\xff\x00\r\n",
		"header longer than total": hello + "HPUB sf.default.source.a 100 2\r\n{}\r\n",
	} {
		c := must(net.Dial("tcp", w.Address()))(t)
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = c.Write([]byte(text))
		buf := make([]byte, 4096)
		for {
			if _, err := c.Read(buf); err != nil {
				var ne net.Error
				if errors.As(err, &ne) && ne.Timeout() {
					t.Errorf("%s: still connected", name)
				}
				break
			}
		}
		c.Close()
	}
	c, _ := w.dial(t, "ann")
	must(c.Request(w.a.Subject(), []byte("{}"), 10*time.Second))(t)
	if n := last(t, w.a); n != 1 {
		t.Errorf("the source has %d messages, want the one of the good client", n)
	}
}

func TestClosingTheServerEndsClients(t *testing.T) {
	w := newWorld(t)
	closed := make(chan struct{})
	w.dial(t, "ann", nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	idle := must(net.Dial("tcp", w.Address()))(t) // It never says who it is.
	defer idle.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ok(t, w.Close(ctx))
	<-closed
}
