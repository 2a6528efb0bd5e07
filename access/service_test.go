package access_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/access/accesstest"
)

var signingKey = []byte("0123456789abcdef0123456789abcdef")

type world struct {
	*access.Service
	users    *accesstest.Memory[access.UserRecord]
	document *accesstest.Memory[access.Document]
	mu       sync.Mutex
	now      time.Time
	changed  []string
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	w.now = w.now.Add(d)
	w.mu.Unlock()
}

// newWorld seeds admin, editor and viewer, each with the password "<name>123!".
func newWorld(t *testing.T, edit ...func(*access.Options)) *world {
	t.Helper()
	w := &world{
		users: accesstest.NewMemory[access.UserRecord](), document: accesstest.NewMemory[access.Document](),
		now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	o := access.Options{
		Users: w.users, Document: w.document, Key: signingKey,
		Now:     func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		Changed: func(u string) { w.mu.Lock(); w.changed = append(w.changed, u); w.mu.Unlock() },
	}
	for _, e := range edit {
		e(&o)
	}
	var err error
	if w.Service, err = access.New(o); err != nil {
		t.Fatal(err)
	}
	seeded, err := w.Seed(t.Context(), []access.NewUser{
		{Username: "admin", DisplayName: "Administrator", Role: access.Admin, Password: "admin123!", Demo: true},
		{Username: "editor", DisplayName: "Editor", Role: access.Editor, Password: "editor123!", Demo: true},
		{Username: "viewer", DisplayName: "Viewer", Role: access.Viewer, Password: "viewer123!", Demo: true},
	})
	if err != nil || !seeded {
		t.Fatalf("seed: %v %v", seeded, err)
	}
	return w
}

func (w *world) login(t *testing.T, user string) string {
	t.Helper()
	s, err := w.Login(t.Context(), "10.0.0.1", user, user+"123!")
	if err != nil {
		t.Fatalf("log in as %s: %v", user, err)
	}
	return s.Token
}

func (w *world) rights(t *testing.T, token string) access.Rights {
	t.Helper()
	p, err := w.Verify(t.Context(), token)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	return w.Rights(t.Context(), p)
}

func TestLoginIssuesATokenWithTheDocumentedClaims(t *testing.T) {
	w := newWorld(t)
	s, err := w.Login(t.Context(), "10.0.0.1", "editor", "editor123!")
	if err != nil {
		t.Fatal(err)
	}
	if s.Username != "editor" || s.DisplayName != "Editor" || s.Role != access.Editor {
		t.Errorf("session %+v", s)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(s.Token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(payload, &c); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"sub": "editor", "name": "editor", "display": "Editor", "role": "Editor", "iss": "streamsforge"} {
		if c[name] != want {
			t.Errorf("claim %s is %v, want %v", name, c[name], want)
		}
	}
	if c["exp"].(float64)-c["iat"].(float64) != 43200 || c["jti"] == "" {
		t.Errorf("claims %v", c)
	}
	for _, forbidden := range []string{"permissions", "grants", "roles"} {
		if _, ok := c[forbidden]; ok {
			t.Errorf("the token carries %s", forbidden)
		}
	}
}

// TestStoredPasswordsHaveTheDocumentedForm computes what is stored by itself: PBKDF2-HMAC-SHA256 with 100,000 iterations,
// a salt of 16 bytes that no two logins share, and a key of 32 bytes.
func TestStoredPasswordsHaveTheDocumentedForm(t *testing.T) {
	w := newWorld(t)
	salts := map[string]bool{}
	for _, name := range []string{"admin", "editor", "viewer"} {
		u, _, ok, err := w.users.Get(t.Context(), name)
		if err != nil || !ok {
			t.Fatalf("%s: %v %v", name, ok, err)
		}
		want, err := pbkdf2.Key(sha256.New, name+"123!", u.Salt, 100_000, 32)
		if err != nil {
			t.Fatal(err)
		}
		if len(u.Salt) != 16 || u.Iterations != 100_000 || !bytes.Equal(u.Hash, want) {
			t.Errorf("%s is stored with %d iterations, %d bytes of salt and %d of key", name, u.Iterations, len(u.Salt), len(u.Hash))
		}
		salts[string(u.Salt)] = true
	}
	if len(salts) != 3 {
		t.Error("two logins share a salt")
	}
}

func TestLoginRefusesAlike(t *testing.T) {
	w := newWorld(t)
	for _, c := range [][2]string{{"editor", "wrong"}, {"nobody", "editor123!"}, {"", ""}, {"Editor", "editor123!"}, {"editor", strings.Repeat("x", 5000)}, {strings.Repeat("u", 5000), "x"}, {"editor\x00", "editor123!"}} {
		if _, err := w.Login(t.Context(), "10.0.0."+c[0][:min(1, len(c[0]))], c[0], c[1]); !errors.Is(err, access.ErrCredentials) {
			t.Errorf("login %.20q: %v", c[0], err)
		}
	}
}

func TestFailedLoginsAreThrottledPerNameAndAddress(t *testing.T) {
	w := newWorld(t)
	var throttled *access.ThrottledError
	tries := 0
	for ; tries < 30; tries++ {
		if _, err := w.Login(t.Context(), "10.0.0.9", "admin", "guess"); errors.As(err, &throttled) {
			break
		}
	}
	if tries != 10 {
		t.Fatalf("throttled after %d tries", tries)
	}
	if _, err := w.Login(t.Context(), "10.0.0.9", "admin", "admin123!"); !errors.As(err, &throttled) {
		t.Errorf("the right password passes a throttled name: %v", err)
	}
	// Nobody is locked out from another address, and another name from the same address is not either.
	if _, err := w.Login(t.Context(), "10.0.0.1", "admin", "admin123!"); err != nil {
		t.Errorf("from another address: %v", err)
	}
	if _, err := w.Login(t.Context(), "10.0.0.9", "viewer", "viewer123!"); err != nil {
		t.Errorf("another name: %v", err)
	}
	w.advance(throttled.RetryAfter + time.Millisecond)
	if _, err := w.Login(t.Context(), "10.0.0.9", "admin", "admin123!"); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}

func TestSuccessfulLoginsAreNotThrottled(t *testing.T) {
	w := newWorld(t)
	for range 15 {
		w.login(t, "viewer")
	}
}

// token makes a signed token from raw claims, as an attacker with some key would.
func token(header, claims string, key []byte) string {
	enc := base64.RawURLEncoding
	signed := enc.EncodeToString([]byte(header)) + "." + enc.EncodeToString([]byte(claims))
	m := hmac.New(sha256.New, key)
	m.Write([]byte(signed))
	return signed + "." + enc.EncodeToString(m.Sum(nil))
}

func TestTokenAttacks(t *testing.T) {
	w := newWorld(t)
	const hs256 = `{"alg":"HS256","typ":"JWT"}`
	iat := w.now.Unix()
	num := func(v int64) string { b, _ := json.Marshal(v); return string(b) }
	good := `{"sub":"admin","name":"admin","role":"Admin","iss":"streamsforge","aud":["streamsforge"],"iat":` + num(iat) + `,"exp":` + num(iat+3600) + `}`
	if _, err := w.Verify(t.Context(), token(hs256, good, signingKey)); err != nil {
		t.Fatalf("the control token is refused: %v", err)
	}
	enc := base64.RawURLEncoding
	none := enc.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + enc.EncodeToString([]byte(good)) + "."
	real := w.login(t, "viewer")
	parts := strings.Split(real, ".")
	attacks := map[string]string{
		"empty":            "",
		"garbage":          "a.b.c",
		"alg none":         none,
		"alg None":         strings.Replace(none, enc.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)), enc.EncodeToString([]byte(`{"alg":"None"}`)), 1),
		"HS512 header":     token(`{"alg":"HS512","typ":"JWT"}`, good, signingKey),
		"RS256 header":     token(`{"alg":"RS256","typ":"JWT"}`, good, signingKey),
		"wrong key":        token(hs256, good, []byte("another key of thirty-two bytes!")),
		"empty key":        token(hs256, good, nil),
		"no signature":     parts[0] + "." + parts[1] + ".",
		"swapped claims":   parts[0] + "." + enc.EncodeToString([]byte(good)) + "." + parts[2],
		"expired":          token(hs256, strings.Replace(good, num(iat+3600), num(iat-120), 1), signingKey),
		"no expiry":        token(hs256, strings.Replace(good, `,"exp":`+num(iat+3600), "", 1), signingKey),
		"issued later":     token(hs256, strings.Replace(good, `"iat":`+num(iat), `"iat":`+num(iat+600), 1), signingKey),
		"other issuer":     token(hs256, strings.Replace(good, `"iss":"streamsforge"`, `"iss":"x"`, 1), signingKey),
		"other audience":   token(hs256, strings.Replace(good, `"aud":["streamsforge"]`, `"aud":["x"]`, 1), signingKey),
		"no subject":       token(hs256, strings.Replace(good, `"sub":"admin",`, "", 1), signingKey),
		"padded base64":    real + "=",
		"two tokens":       real + "." + real,
		"embedded newline": parts[0] + "\n." + parts[1] + "." + parts[2],
	}
	for name, tok := range attacks {
		if p, err := w.Verify(t.Context(), tok); !errors.Is(err, access.ErrToken) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	// The skew is a minute, and not more.
	w.advance(access.TokenLife + 30*time.Second)
	if _, err := w.Verify(t.Context(), real); err != nil {
		t.Errorf("within the skew: %v", err)
	}
	w.advance(time.Minute)
	if _, err := w.Verify(t.Context(), real); !errors.Is(err, access.ErrToken) {
		t.Errorf("beyond the skew: %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	s, err := access.New(access.Options{
		Users: accesstest.NewMemory[access.UserRecord](), Document: accesstest.NewMemory[access.Document](), Key: signingKey,
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token(`{"alg":"HS256"}`, `{"sub":"a"}`, nil))
	f.Add("a.b.c")
	f.Add("..")
	f.Fuzz(func(t *testing.T, tok string) {
		if _, err := s.Verify(context.Background(), tok); err == nil {
			t.Fatalf("a token that we did not sign is accepted: %q", tok)
		}
	})
}

func TestFloors(t *testing.T) {
	w := newWorld(t)
	roles := []access.Role{access.Viewer, access.Editor, access.Admin}
	for i, user := range []string{"viewer", "editor", "admin"} {
		r := w.rights(t, w.login(t, user))
		for j, floor := range roles {
			if got := r.Floor("default", floor).Allowed; got != (i >= j) {
				t.Errorf("%s at floor %s: %v", user, floor, got)
			}
		}
	}
	// A grant on everything replaces the role.
	err := w.EditPolicy(t.Context(), "viewer", func(d *access.Document) {
		for i := range d.Users {
			if d.Users[i].Username == "viewer" {
				d.Users[i].Grants = []access.Grant{{Action: "access.write", Scope: "*", Effect: access.Allow}}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	r := w.rights(t, w.login(t, "viewer"))
	if !r.Floor("default", access.Admin).Allowed || r.Floor("default", access.Editor).Allowed {
		t.Error("access.write opens the Admin floor and nothing else")
	}
}

func TestDisabledUserHasNothingAndKeepsTheToken(t *testing.T) {
	w := newWorld(t)
	tok := w.login(t, "editor")
	if _, err := w.SetDisabled(t.Context(), "admin", "editor", true); err != nil {
		t.Fatal(err)
	}
	r := w.rights(t, tok)
	for _, floor := range []access.Role{access.Viewer, access.Editor} {
		if d := r.Floor("default", floor); d.Allowed || d.Reason != "user 'editor' is disabled" {
			t.Errorf("floor %s: %+v", floor, d)
		}
	}
	if d := r.Decide(access.Request{Env: "default", Action: "source.read", Scope: "x"}); d.Reason != "user 'editor' is disabled" {
		t.Errorf("decision %+v", d)
	}
	if !slices.Contains(w.changed, "editor") {
		t.Errorf("live connections were not told: %v", w.changed)
	}
	if _, err := w.SetDisabled(t.Context(), "admin", "editor", false); err != nil {
		t.Fatal(err)
	}
	if !w.rights(t, tok).Floor("default", access.Editor).Allowed {
		t.Error("an enabled user has the roles back")
	}
}

func TestDeletedUserKeepsAValidTokenWithoutRights(t *testing.T) {
	w := newWorld(t)
	tok := w.login(t, "admin")
	if err := w.DeleteUser(t.Context(), "admin"); err != nil {
		t.Fatal(err)
	}
	r := w.rights(t, tok)
	if r.Floor("default", access.Viewer).Allowed || r.Decide(access.Request{Env: "default", Action: "table.read", Scope: "x"}).Allowed {
		t.Error("a deleted user may still read")
	}
}

func TestPolicyChangesElsewhereCountAfterTheCache(t *testing.T) {
	w := newWorld(t)
	tok := w.login(t, "editor")
	if !w.rights(t, tok).Decide(access.Request{Env: "default", Action: "table.write", Scope: "x"}).Allowed {
		t.Fatal("the editor may not write")
	}
	other, err := access.New(access.Options{Users: w.users, Document: w.document, Key: signingKey})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.SetDisabled(t.Context(), "admin", "editor", true); err != nil {
		t.Fatal(err)
	}
	w.advance(11 * time.Second)
	if w.rights(t, tok).Decide(access.Request{Env: "default", Action: "table.write", Scope: "x"}).Allowed {
		t.Error("a change of another process does not count after the cache time")
	}
}

func TestUnreadablePolicyFallsBackToTheLastKnown(t *testing.T) {
	w := newWorld(t)
	tok := w.login(t, "editor")
	if _, err := w.SetDisabled(t.Context(), "admin", "viewer", true); err != nil {
		t.Fatal(err)
	}
	w.rights(t, tok)
	w.document.Err = errors.New("the store is away")
	w.advance(time.Minute)
	viewer, err := w.Verify(t.Context(), tok)
	if err != nil {
		t.Fatal(err)
	}
	viewer.Username = "viewer"
	if w.Rights(t.Context(), viewer).Floor("default", access.Viewer).Allowed {
		t.Error("a disabled user passes while the store is away")
	}
	if !w.rights(t, tok).Floor("default", access.Editor).Allowed {
		t.Error("everyone is locked out while the store is away")
	}
}

func TestLegacyModeGoesByTheRoleAlone(t *testing.T) {
	w := newWorld(t, func(o *access.Options) { o.Legacy = true })
	tok := w.login(t, "viewer")
	if _, err := w.SetDisabled(t.Context(), "admin", "viewer", true); err != nil {
		t.Fatal(err)
	}
	r := w.rights(t, tok)
	if !r.Floor("default", access.Viewer).Allowed || r.Floor("default", access.Editor).Allowed || !r.Decide(access.Request{Action: "x"}).Allowed {
		t.Error("legacy mode looks at more than the role")
	}
}

func TestConcurrentPolicyEditsAllCount(t *testing.T) {
	w := newWorld(t)
	const n = 8
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			name := "group-" + string(rune('a'+i))
			if err := w.EditPolicy(t.Context(), "", func(d *access.Document) { d.Groups = append(d.Groups, access.Group{Name: name}) }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := len(w.Policy(t.Context()).Groups); got != n {
		t.Errorf("%d of %d edits are there", got, n)
	}
}

func TestCreateUserRefusals(t *testing.T) {
	w := newWorld(t)
	for want, n := range map[string]access.NewUser{
		"username and password are required":              {Username: "a"},
		"username already exists":                         {Username: "viewer", Password: "x"},
		"role 'Root' is not one of Viewer, Editor, Admin": {Username: "b", Password: "x", Role: "Root"},
		`username "ingest:x"`:                             {Username: "ingest:x", Password: "x"},
	} {
		if _, err := w.CreateUser(t.Context(), "admin", n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", n, err, want)
		}
	}
	if seeded, err := w.Seed(t.Context(), []access.NewUser{{Username: "late", Password: "x"}}); seeded || err != nil {
		t.Errorf("seeded over existing users: %v %v", seeded, err)
	}
	demo, err := w.DemoPasswords(t.Context())
	if err != nil || !slices.Equal(demo, []string{"admin", "editor", "viewer"}) {
		t.Errorf("demo logins %v %v", demo, err)
	}
}

func TestShortSigningKeyIsRefused(t *testing.T) {
	if _, err := access.New(access.Options{Key: []byte("short")}); err == nil || !strings.Contains(err.Error(), "Jwt:Key") {
		t.Errorf("got %v", err)
	}
}

func TestConnectNATS(t *testing.T) {
	w := newWorld(t)
	resources := []access.Resource{
		{Env: "default", Kind: "source", Name: "trades", Write: []string{"sf.default.source.trades"}, Read: []string{"sf.default.source.trades"}, Streams: []string{"SF_default_SRC_trades"}},
		{Env: "default", Kind: "table", Name: "positions", Read: []string{"sf.default.table.positions.delta"}, Requests: []string{"sf.default.table.positions.rows"}, Streams: []string{"SF_default_TBL_1"}},
		{Env: "default", Kind: "source", Name: "secret", Tags: []string{"hidden"}, Write: []string{"sf.default.source.secret"}, Read: []string{"sf.default.source.secret"}},
	}
	err := w.EditPolicy(t.Context(), "", func(d *access.Document) {
		for i := range d.Users {
			d.Users[i].Grants = append(d.Users[i].Grants, access.Grant{Action: "source.*", Scope: "tag:hidden", Effect: access.Deny})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	key := func(_ context.Context, source, secret string) bool {
		return source == "trades" && secret == "sfk_right"
	}
	connect := func(user, password, tok string) (access.Connection, error) {
		return w.ConnectNATS(t.Context(), "10.0.0.1", user, password, tok, resources, key)
	}
	viewer, err := connect("viewer", "viewer123!", "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(viewer.Publish, []string{"sf.default.table.positions.rows"}) ||
		!slices.Equal(viewer.Subscribe, []string{"sf.default.source.trades", "sf.default.table.positions.delta"}) ||
		!slices.Equal(viewer.Streams, []string{"SF_default_SRC_trades", "SF_default_TBL_1"}) {
		t.Errorf("viewer: %+v", viewer)
	}
	tok := w.login(t, "editor")
	for _, c := range [][3]string{{"", "", tok}, {"editor", tok, ""}} {
		e, err := connect(c[0], c[1], c[2])
		if err != nil || e.User != "editor" || e.Expires.IsZero() || !slices.Contains(e.Publish, "sf.default.source.trades") || slices.Contains(e.Publish, "sf.default.source.secret") {
			t.Errorf("editor by token: %+v %v", e, err)
		}
	}
	k, err := connect("ingest:trades", "sfk_right", "")
	if err != nil || !slices.Equal(k.Publish, []string{"sf.default.source.trades"}) || len(k.Subscribe)+len(k.Streams) > 0 {
		t.Errorf("ingest key: %+v %v", k, err)
	}
	for name, c := range map[string][3]string{
		"wrong password":          {"viewer", "x", ""},
		"wrong key":               {"ingest:trades", "sfk_wrong", ""},
		"key of another source":   {"ingest:secret", "sfk_right", ""},
		"token of another user":   {"admin", tok, ""},
		"token signed by no one":  {"", "", token(`{"alg":"HS256"}`, `{"sub":"admin"}`, nil)},
		"nothing":                 {"", "", ""},
		"the system's own prefix": {"$SYS", "", ""},
	} {
		if got, err := connect(c[0], c[1], c[2]); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := w.SetDisabled(t.Context(), "admin", "viewer", true); err != nil {
		t.Fatal(err)
	}
	if got, err := connect("viewer", "viewer123!", ""); err == nil {
		t.Errorf("a disabled user connects: %+v", got)
	}
}
