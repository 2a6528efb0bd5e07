package streams

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// through runs a client's bytes through a filter whose user is ann.
func through(in string) (out string, err error) {
	var w bytes.Buffer
	f := newFilter(strings.NewReader(in), &w, 1<<20)
	f.hello = func(c []byte) ([]byte, string, error) {
		if string(c) == "no" {
			return nil, "", ErrRefused
		}
		return []byte("{}"), "_INBOX_ann.", nil
	}
	err = f.run()
	_ = f.w.Flush()
	return w.String(), err
}

func TestTheFilterWritesOneForm(t *testing.T) {
	for in, want := range map[string]string{
		"PING\r\n":                               "PING\r\n",
		"ping\n":                                 "PING\r\n",
		"PONG \t\r\n":                            "PONG\r\n",
		"PUB a 2\r\nhi\r\n":                      "PUB a 2\r\nhi\r\n",
		"pub\ta  \t_INBOX_ann.x  2 \r\nhi\r\n":   "PUB a _INBOX_ann.x 2\r\nhi\r\n",
		"PUB a 0\r\n\r\n":                        "PUB a 0\r\n\r\n",
		"HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n": "HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
		"SUB a 1\r\n":                            "SUB a 1\r\n",
		"SUB a q 1\r\n":                          "SUB a q 1\r\n",
		"UNSUB 1 5\r\n":                          "UNSUB 1 5\r\n",
		// A payload is never read as protocol.
		"PUB a 14\r\nPUB b c 1\r\nx\r\n\r\n": "PUB a 14\r\nPUB b c 1\r\nx\r\n\r\n",
		// Replies outside of the own inbox become what the server refuses.
		"PUB a b 2\r\nhi\r\n":                                 "PUB a _R_.b 2\r\nhi\r\n",
		"PUB a _INBOX_ann 2\r\nhi\r\n":                        "PUB a _R_._INBOX_ann 2\r\nhi\r\n",
		"HPUB a _INBOX_bob.x 12 14\r\nNATS/1.0\r\n\r\nhi\r\n": "HPUB a _R_._INBOX_bob.x 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
		// A number that looks like a reply is one: the server counts words as well.
		"PUB a 5 2\r\nhi\r\n": "PUB a _R_.5 2\r\nhi\r\n",
	} {
		out, err := through("CONNECT {}\r\n" + in)
		if got := strings.TrimPrefix(out, "CONNECT {}\r\n"); got != want {
			t.Errorf("%q passes as %q, want %q (%v)", in, got, want, err)
		}
	}
	if out, err := through("CONNECT no\r\nPING\r\n"); out != "" || !errors.Is(err, ErrRefused) {
		t.Errorf("a refused client: %q, %v", out, err)
	}
}

// FuzzFilter checks the promise of the gate on whatever a client may send: what comes out is the protocol in canonical
// form, and has no reply outside of the client's inbox but the refused ones.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{
		"PING\r\n", "PUB a 2\r\nhi\r\n", "HPUB a r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", "PUB a b 2\r\nhi\r\nPUB c 3\r\n", "SUB > 1\r\nUNSUB 1\r\n", "PUB a 4\r\nhi\r\n\r\nPING\r\n",
		"PUB a 99999999999999999999\r\n", "\r\n", "PUB a -2\r\n", strings.Repeat("x", 5000) + "\r\n", "CONNECT {}\r\n", "PUB a\x00b 1\r\nx\r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, _ := through("CONNECT {}\r\n" + in)
		rest := []byte(out)
		for len(rest) > 0 {
			line, after, found := bytes.Cut(rest, crlf)
			if !found {
				return // The client has ended inside of a message.
			}
			rest = after
			words := strings.Split(string(line), " ")
			payload := -1
			switch words[0] {
			case "CONNECT", "SUB", "UNSUB", "PING", "PONG":
			case "PUB", "HPUB":
				sizes := len(words[0]) - 2 // One for PUB, two for HPUB.
				if len(words) == 3+sizes && !strings.HasPrefix(words[2], "_INBOX_ann.") && !strings.HasPrefix(words[2], refusedReply) {
					t.Fatalf("the reply %q passes", words[2])
				}
				payload = 0
				for _, c := range words[len(words)-1] {
					payload = 10*payload + int(c-'0')
				}
			default:
				t.Fatalf("%q passes", line)
			}
			if payload < 0 {
				continue
			}
			if len(rest) < payload+2 {
				return
			}
			if !bytes.HasPrefix(rest[payload:], crlf) {
				t.Fatalf("behind %q comes %q", line, rest[:payload+2])
			}
			rest = rest[payload+2:]
		}
	})
}

func TestParseViolation(t *testing.T) {
	for _, c := range []struct {
		format  string
		args    []any
		cid     uint64
		subject string
		publish bool
	}{
		{`pipe - cid:7 - "v1:go" - Publish Violation - Subject %q`, []any{[]byte("a.b")}, 7, "a.b", true},
		{`pipe - cid:8 - Publish Violation - Reply %q`, []any{[]byte("_R_.a.b")}, 8, "a.b", true},
		{`pipe - cid:9 - Subscription Violation - Subject "a.>", SID 3`, nil, 9, "a.>", false},
		{`[::1]:5 - cid:10 - "Subscription Violation - Subject \"x\"" - Subscription Violation - Subject "a\x00", Queue: "q", SID 3`, nil, 10, "a\x00", false},
	} {
		cid, subject, publish, ok := parseViolation(c.format, c.args)
		if !ok || cid != c.cid || subject != c.subject || publish != c.publish {
			t.Errorf("%s: %d, %q, %v, %v", c.format, cid, subject, publish, ok)
		}
	}
	for _, format := range []string{"", "Publish Violation - Subject %q", "cid:1 - Subscription Violation - Subject ", "cid:x - Publish Violation - Subject %q", "cid:1 - other %q"} {
		if _, _, _, ok := parseViolation(format, []any{[]byte("a")}); ok {
			t.Errorf("%q is taken for a violation", format)
		}
	}
}

func TestSubsetOf(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a.b", "a.b", true}, {"a.b", "a.*", true}, {"a.b", "a.>", true}, {"a.*", "a.*", true}, {"a.>", ">", true}, {"a.>", "a.>", true},
		{"a.*.c", "a.>", true}, {"a.b", "a.c", false}, {"a.*", "a.b", false}, {"a.>", "a.*", false}, {"a", "a.>", false}, {"a.b", "a", false}, {"a.b.c", "a.*", false},
	} {
		if got := subsetOf(c.a, c.b); got != c.want {
			t.Errorf("subsetOf(%q, %q) = %v", c.a, c.b, got)
		}
	}
}

// A core publish has no acknowledgement, and the server drops it when the queue of the stream is full. It is not
// silent here: the stream is counted. A publisher with acknowledgements learns of each message.
func TestDroppedPublishesAreSeen(t *testing.T) {
	s := open(t, Options{queue: 20, Sync: SyncAlways})
	st, err := s.EnsureSource(t.Context(), DefaultEnv, "a", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	sent := 0
	for ; sent < 20*n && len(s.Overflows()) == 0; sent++ {
		if err := s.Conn().Publish(st.subject, []byte("row")); err != nil {
			t.Fatal(err)
		}
		if sent%n == n-1 {
			if err := s.Conn().Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := s.Overflows(); got[st.name] == 0 || len(got) != 1 {
		t.Fatalf("after %d publishes the reports are %v", sent, got)
	}
	if state, err := st.State(t.Context()); err != nil || state.Messages >= uint64(sent) {
		t.Fatalf("%d of %d messages are stored, %v", state.Messages, sent, err)
	}
	var acks []*Ack
	for range 1000 {
		a, err := st.PublishAsync(t.Context(), []byte("row"), nil)
		if err != nil {
			t.Fatal(err)
		}
		acks = append(acks, a)
	}
	stored, busy := 0, 0
	for _, a := range acks {
		switch _, err := a.Wait(t.Context()); {
		case err == nil:
			stored++
		case errors.Is(err, ErrBusy):
			busy++
		default:
			t.Fatal(err)
		}
	}
	if busy == 0 || stored+busy != len(acks) {
		t.Fatalf("%d stored and %d refused of %d", stored, busy, len(acks))
	}
}

func TestParseOverflow(t *testing.T) {
	if st, ok := parseOverflow("Dropping messages due to excessive stream ingest rate on '$G' > 'SF_default_SRC_a': len limit"); !ok || st != "SF_default_SRC_a" {
		t.Errorf("%q, %v", st, ok)
	}
	for _, text := range []string{"", "Dropping messages", "Dropping messages due to excessive stream ingest rate on 'x"} {
		if st, ok := parseOverflow(text); ok {
			t.Errorf("%q is read as %q", text, st)
		}
	}
}
