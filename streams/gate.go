package streams

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"
)

// gate is the listener for external clients. The NATS server has none of its own, because it checks the subject of a
// publish but not its reply: a client could name a journal's subject as the reply of an innocent publish, and the
// server would put its acknowledgement there, into the log. The gate reads what clients send, message by message, and
// lets a reply pass only when it is below the client's own inbox (docs/adr/0002-external-nats-reads.md).
//
// It also authenticates: the server sees a ticket instead of the credentials. What the server sends to clients passes
// unread.
type gate struct {
	listener net.Listener
	guard    *guard
	dial     func() (net.Conn, error) // a connection to the server in this process
	limit    int                      // of a payload with its headers
	log      *slog.Logger

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
	tasks  sync.WaitGroup
}

// helloTimeout is how long a client may take to say who it is.
const helloTimeout = 5 * time.Second

// acceptPause is the wait after a failed accept: out of file descriptors, most likely.
const acceptPause = 50 * time.Millisecond

// open begins to let clients in. Until then they wait in the listener's queue.
func (g *gate) open() {
	g.conns = map[net.Conn]bool{}
	g.tasks.Go(func() {
		for {
			c, err := g.listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				g.log.Warn("nats: accept a client", "error", err)
				<-time.After(acceptPause) // Trying again at once would only burn the processor.
				continue
			}
			if !g.track(c) {
				c.Close()
				return
			}
			g.tasks.Go(func() {
				defer g.untrack(c)
				g.serve(c)
			})
		}
	})
}

func (g *gate) track(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.conns[c] = true
	}
	return !g.closed
}

func (g *gate) untrack(c net.Conn) {
	c.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
}

// close ends every client connection and waits for them.
func (g *gate) close() {
	g.listener.Close()
	g.mu.Lock()
	g.closed = true
	for c := range g.conns {
		c.Close()
	}
	g.mu.Unlock()
	g.tasks.Wait()
}

// serve passes one client through until either side ends.
func (g *gate) serve(c net.Conn) {
	server, err := g.dial()
	if err != nil {
		g.log.Warn("nats: connect a client", "error", err)
		return
	}
	defer server.Close()
	f := newFilter(c, server, g.limit)
	out := make(chan struct{})
	g.tasks.Go(func() {
		defer close(out)
		_, _ = io.Copy(c, server) // It ends with the connection, which is no error worth a word.
		if !f.refused.Load() {
			c.Close() // The server ended it; the reading side learns it by this.
		}
	})
	remote := c.RemoteAddr().String()
	var t *ticket
	defer func() { g.guard.forget(t) }()
	f.hello = func(connect []byte) (rewritten []byte, inbox string, err error) {
		var who credentials
		if err := json.Unmarshal(connect, &who); err != nil {
			return nil, "", err
		}
		if t, err = g.guard.admit(who, remote); err != nil {
			f.refused.Store(true)
			return nil, "", err
		}
		_ = c.SetReadDeadline(time.Time{})
		return who.connect(t), InboxPrefix(t.identity.User) + ".", nil
	}
	_ = c.SetReadDeadline(time.Now().Add(helloTimeout))
	err = f.run()
	server.Close()
	<-out
	if errors.Is(err, ErrRefused) {
		_ = c.SetWriteDeadline(time.Now().Add(helloTimeout))
		_, _ = io.WriteString(c, "-ERR 'Authorization Violation'\r\n")
	}
}

// credentials is what the gate reads of a client's CONNECT.
type credentials struct {
	User     string `json:"user"`
	Password string `json:"pass"`
	Token    string `json:"auth_token"`

	Verbose      bool   `json:"verbose"`
	Pedantic     bool   `json:"pedantic"`
	Name         string `json:"name"`
	Lang         string `json:"lang"`
	Version      string `json:"version"`
	Protocol     int    `json:"protocol"`
	Echo         *bool  `json:"echo"`
	Headers      bool   `json:"headers"`
	NoResponders bool   `json:"no_responders"`
}

// connect is the CONNECT that the server gets: a ticket instead of the credentials, and of the rest only what the
// gate knows.
func (w credentials) connect(t *ticket) []byte {
	echo := w.Echo == nil || *w.Echo
	b, err := json.Marshal(map[string]any{
		"user": ticketUser, "pass": t.secret,
		"verbose": w.Verbose, "pedantic": w.Pedantic, "protocol": w.Protocol, "echo": echo, "headers": w.Headers, "no_responders": w.NoResponders,
		"name": plainText(w.Name), "lang": plainText(w.Lang), "version": plainText(w.Version),
	})
	if err != nil {
		panic("BUG: a connect message is always JSON: " + err.Error())
	}
	return b
}

// plainText keeps what a client says about itself from being more than text in the server's log, which takes it for a
// part of its format strings.
func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '%' || r == 0x7f {
			return -1
		}
		return r
	}, s[:min(len(s), 128)])
}
