package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	documentKey = "document"
	// maxUsername bounds the UTF-8 bytes of a user name: encoded it is part of a NATS inbox.
	maxUsername = 64
)

// NewUser is a login to create.
type NewUser struct {
	Username    string
	DisplayName string
	Role        Role
	Password    string
	Demo        bool
}

// ErrUserExists refuses a second login of one name.
var ErrUserExists = errors.New("username already exists")

// InvalidError refuses a change of a login that breaks a rule.
type InvalidError struct{ Text string }

func (e *InvalidError) Error() string { return e.Text }

func invalidf(format string, args ...any) error {
	return &InvalidError{Text: fmt.Sprintf(format, args...)}
}

// CreateUser stores a login and mirrors its role into the access document.
func (s *Service) CreateUser(ctx context.Context, actor string, n NewUser) (User, error) {
	if strings.TrimSpace(n.Username) == "" || n.Password == "" {
		return User{}, invalidf("username and password are required")
	}
	if len(n.Username) > maxUsername || !utf8.ValidString(n.Username) || strings.ContainsFunc(n.Username, unicode.IsControl) || strings.ContainsRune(n.Username, ':') {
		return User{}, invalidf("username %q: at most %d bytes, without control characters and ':'", n.Username, maxUsername)
	}
	if n.Role == "" {
		n.Role = Viewer
	}
	if !n.Role.Valid() {
		return User{}, invalidf("role '%s' is not one of Viewer, Editor, Admin", n.Role)
	}
	if n.DisplayName == "" {
		n.DisplayName = n.Username
	}
	hash, salt, err := hashPassword(n.Password)
	if err != nil {
		return User{}, err
	}
	u := UserRecord{
		User: User{Username: n.Username, DisplayName: n.DisplayName, Role: n.Role, CreatedAtMs: s.opt.Now().UnixMilli()},
		Hash: hash, Salt: salt, Iterations: Iterations, Demo: n.Demo,
	}
	if _, err := s.opt.Users.Put(ctx, EncodeKey(n.Username), u, 0); errors.Is(err, ErrRevision) {
		return User{}, ErrUserExists
	} else if err != nil {
		return User{}, fmt.Errorf("store user: %w", err)
	}
	err = s.EditPolicy(ctx, n.Username, func(d *Document) {
		d.setUser(UserAccess{Username: n.Username, Roles: []string{string(n.Role)}, Grants: []Grant{}, UpdatedAtMs: u.CreatedAtMs, UpdatedBy: actor})
	})
	if err != nil {
		return u.User, fmt.Errorf("user '%s' exists now, but its role was not mirrored into the access document: %w", n.Username, err)
	}
	return u.User, nil
}

// UserEdit changes a login; absent members stay as they are.
type UserEdit struct {
	DisplayName *string
	Role        *Role
	Password    *string
}

// UpdateUser changes a login and mirrors a new role into the access document.
func (s *Service) UpdateUser(ctx context.Context, actor, username string, e UserEdit) (User, error) {
	if e.Role != nil && !e.Role.Valid() {
		return User{}, invalidf("role '%s' is not one of Viewer, Editor, Admin", *e.Role)
	}
	var hash, salt []byte
	if e.Password != nil {
		var err error
		if hash, salt, err = hashPassword(*e.Password); err != nil {
			return User{}, err
		}
	}
	const attempts = 5
	for range attempts {
		u, rev, ok, err := s.opt.Users.Get(ctx, EncodeKey(username))
		switch {
		case err != nil:
			return User{}, fmt.Errorf("read user: %w", err)
		case !ok:
			return User{}, ErrNoUser
		}
		roleChanged := e.Role != nil && *e.Role != u.Role
		if e.DisplayName != nil {
			u.DisplayName = *e.DisplayName
		}
		if e.Role != nil {
			u.Role = *e.Role
		}
		if hash != nil {
			u.Hash, u.Salt, u.Iterations, u.Demo = hash, salt, Iterations, false
		}
		_, err = s.opt.Users.Put(ctx, EncodeKey(username), u, rev)
		if errors.Is(err, ErrRevision) {
			continue
		}
		if err != nil {
			return User{}, fmt.Errorf("store user: %w", err)
		}
		s.forget(username)
		if !roleChanged {
			return u.User, nil
		}
		err = s.EditPolicy(ctx, username, func(d *Document) {
			entry := UserAccess{Username: username, Grants: []Grant{}}
			if i := slices.IndexFunc(d.Users, func(a UserAccess) bool { return a.Username == username }); i >= 0 {
				entry = d.Users[i]
			}
			entry.Roles, entry.UpdatedAtMs, entry.UpdatedBy = []string{string(u.Role)}, s.opt.Now().UnixMilli(), actor
			d.setUser(entry)
		})
		if err != nil {
			return u.User, fmt.Errorf("user '%s' is changed, but the role was not mirrored into the access document: %w", username, err)
		}
		return u.User, nil
	}
	return User{}, fmt.Errorf("store user: %w", ErrRevision)
}

// Users lists the logins by name.
func (s *Service) Users(ctx context.Context) ([]UserRecord, error) {
	keys, err := s.opt.Users.Keys(ctx)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	out := []UserRecord{}
	for _, k := range keys {
		u, _, ok, err := s.opt.Users.Get(ctx, k)
		if err != nil {
			return nil, fmt.Errorf("read user %s: %w", k, err)
		}
		if ok {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b UserRecord) int { return strings.Compare(a.Username, b.Username) })
	return out, nil
}

// User reads one login; ErrNoUser when there is none.
func (s *Service) User(ctx context.Context, username string) (User, error) {
	u, ok, err := s.user(ctx, username)
	switch {
	case err != nil:
		return User{}, fmt.Errorf("read user: %w", err)
	case !ok:
		return User{}, ErrNoUser
	}
	return u.User, nil
}

// DeleteUser removes a login and its access entry.
func (s *Service) DeleteUser(ctx context.Context, username string) error {
	_, rev, ok, err := s.opt.Users.Get(ctx, EncodeKey(username))
	switch {
	case err != nil:
		return fmt.Errorf("read user: %w", err)
	case !ok:
		return ErrNoUser
	}
	if err := s.opt.Users.Delete(ctx, EncodeKey(username), rev); err != nil {
		return fmt.Errorf("delete user: %w", err)
	}
	return s.EditPolicy(ctx, username, func(d *Document) {
		d.Users = slices.DeleteFunc(d.Users, func(u UserAccess) bool { return u.Username == username })
	})
}

// SetDisabled disables or enables a login. Roles and grants are kept; a user without an entry gets one with the role
// of the login.
func (s *Service) SetDisabled(ctx context.Context, actor, username string, disabled bool) (UserAccess, error) {
	u, ok, err := s.user(ctx, username)
	if err != nil {
		return UserAccess{}, fmt.Errorf("read user: %w", err)
	}
	var out UserAccess
	err = s.EditPolicy(ctx, username, func(d *Document) {
		out = UserAccess{Username: username, Roles: []string{}, Grants: []Grant{}}
		if ok {
			out.Roles = []string{string(u.Role)}
		}
		if i := slices.IndexFunc(d.Users, func(a UserAccess) bool { return a.Username == username }); i >= 0 {
			out = d.Users[i]
		}
		out.Disabled, out.UpdatedAtMs, out.UpdatedBy = disabled, s.opt.Now().UnixMilli(), actor
		d.setUser(out)
	})
	return out, err
}

func (d *Document) setUser(u UserAccess) {
	if i := slices.IndexFunc(d.Users, func(a UserAccess) bool { return a.Username == u.Username }); i >= 0 {
		d.Users[i] = u
		return
	}
	d.Users = append(d.Users, u)
}

// EditPolicy changes the access document with compare-and-set; edit may run more than once. username is whom the
// change concerns, "" for everyone.
func (s *Service) EditPolicy(ctx context.Context, username string, edit func(*Document)) error {
	const attempts = 10
	for range attempts {
		d, rev, ok, err := s.opt.Document.Get(ctx, documentKey)
		if err != nil {
			return fmt.Errorf("read the access document: %w", err)
		}
		if !ok {
			d = Document{Roles: BuiltInRoles(), Groups: []Group{}, Users: []UserAccess{}}
		}
		d.Users, d.Groups, d.Roles = slices.Clone(d.Users), slices.Clone(d.Groups), slices.Clone(d.Roles)
		edit(&d)
		d.Version++
		d.UpdatedAtMs = s.opt.Now().UnixMilli()
		_, err = s.opt.Document.Put(ctx, documentKey, d, rev)
		switch {
		case err == nil:
			s.forget(username)
			return nil
		case !errors.Is(err, ErrRevision):
			return fmt.Errorf("store the access document: %w", err)
		}
	}
	return fmt.Errorf("store the access document: %w", ErrRevision)
}

// Seed creates logins when there is none at all. It reports whether it did.
func (s *Service) Seed(ctx context.Context, users []NewUser) (bool, error) {
	keys, err := s.opt.Users.Keys(ctx)
	if err != nil {
		return false, fmt.Errorf("list users: %w", err)
	}
	if len(keys) > 0 {
		return false, nil
	}
	for _, u := range users {
		if _, err := s.CreateUser(ctx, "system", u); err != nil && !errors.Is(err, ErrUserExists) {
			return false, fmt.Errorf("seed user %s: %w", u.Username, err)
		}
	}
	return true, nil
}

// DemoPasswords lists the logins whose password is public knowledge.
func (s *Service) DemoPasswords(ctx context.Context) ([]string, error) {
	users, err := s.Users(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, u := range users {
		if u.Demo {
			out = append(out, u.Username)
		}
	}
	return out, nil
}

const hexDigits = "0123456789ABCDEF"

// EncodeKey writes a user name as a KV key: every byte outside A-Z, a-z, 0-9, '_' and '-' becomes =XX.
func EncodeKey(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			b.WriteByte(c)
		default:
			b.WriteByte('=')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}
