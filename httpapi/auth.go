package httpapi

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/server/view"
)

// docsCookie opens the reference pages, which a browser loads without a header.
const docsCookie = "sf_docs"

type loginRequest struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

func (a *API) login(c *Ctx) error {
	var in loginRequest
	if err := c.body(&in); err != nil {
		return err
	}
	s, err := a.opt.Access.Login(c.Request().Context(), c.RealIP(), in.Username, in.Password)
	if errors.Is(err, access.ErrCredentials) {
		return errUnauthorized
	}
	if err != nil {
		return err
	}
	c.SetCookie(a.cookie(c, s.Token, int(access.TokenLife.Seconds())))
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.ok(s)
}

func (a *API) logout(c *Ctx) error {
	c.SetCookie(a.cookie(c, "", -1))
	return c.empty(http.StatusNoContent)
}

func (a *API) cookie(c *Ctx, value string, maxAge int) *http.Cookie {
	scheme, _ := a.origin(c)
	// The header of a proxy makes the cookie stricter, never laxer, so it counts here without being trusted.
	secure := scheme == "https" || first(c.Request().Header.Get("X-Forwarded-Proto")) == "https"
	return &http.Cookie{
		Name: docsCookie, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: secure,
	}
}

// origin is the scheme and host that the caller used. Headers of a proxy count only when they are trusted.
func (a *API) origin(c *Ctx) (scheme, host string) {
	r := c.Request()
	scheme, host = "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if !a.opt.ForwardedHeaders {
		return scheme, host
	}
	if p := first(r.Header.Get("X-Forwarded-Proto")); p == "https" || p == "http" {
		scheme = p
	}
	if h := first(r.Header.Get("X-Forwarded-Host")); h != "" {
		host = h
	}
	return scheme, host
}

func first(list string) string {
	v, _, _ := strings.Cut(list, ",")
	return strings.TrimSpace(v)
}

// Me is who the caller is. The members from Permissions on are absent when grants are turned off; a client then goes
// by the role.
type Me struct {
	Username      string          `json:"username"`
	DisplayName   string          `json:"displayName"`
	Role          access.Role     `json:"role"`
	CreatedAtMs   int64           `json:"createdAtMs"`
	Permissions   *[]access.Grant `json:"permissions,omitempty"`
	Roles         *[]string       `json:"roles,omitempty"`
	Groups        *[]string       `json:"groups,omitempty"`
	Disabled      *bool           `json:"disabled,omitempty"`
	PolicyVersion *int64          `json:"policyVersion,omitempty"`
}

func (a *API) me(c *Ctx) error {
	u, err := a.opt.Access.User(c.Request().Context(), c.actor())
	if errors.Is(err, access.ErrNoUser) {
		return view.ErrUnknown
	}
	if err != nil {
		return err
	}
	out := Me{Username: u.Username, DisplayName: u.DisplayName, Role: u.Role, CreatedAtMs: u.CreatedAtMs}
	if e := c.Rights.Effective; !c.Rights.Legacy() {
		out.Permissions, out.Roles, out.Groups = &e.Grants, &e.Roles, &e.Groups
		out.Disabled, out.PolicyVersion = &e.Disabled, &e.Version
	}
	return c.ok(out)
}

func (a *API) users(c *Ctx) error {
	all, err := a.opt.Access.Users(c.Request().Context())
	if err != nil {
		return err
	}
	out := []access.User{}
	for _, u := range all {
		if c.decide("user.read", u.Username, nil).Allowed {
			out = append(out, u.User)
		}
	}
	return c.ok(out)
}

type newUserRequest struct {
	Username    string      `json:"username"`
	DisplayName string      `json:"displayName"`
	Role        access.Role `json:"role"`
	Password    string      `json:"password"`
}

func (a *API) createUser(c *Ctx) error {
	var in newUserRequest
	if err := c.body(&in); err != nil {
		return err
	}
	if err := c.require("user.write", in.Username, nil); err != nil {
		return err
	}
	u, err := a.opt.Access.CreateUser(c.Request().Context(), c.actor(), access.NewUser{
		Username: in.Username, DisplayName: in.DisplayName, Role: in.Role, Password: in.Password,
	})
	if err != nil {
		return userError(err, u)
	}
	c.Response().Header().Set("Location", "/api/users/"+url.PathEscape(u.Username))
	return c.ok(u)
}

type editUserRequest struct {
	DisplayName *string      `json:"displayName"`
	Role        *access.Role `json:"role"`
	Password    *string      `json:"password"`
}

func (a *API) updateUser(c *Ctx) error {
	var in editUserRequest
	if err := c.body(&in); err != nil {
		return err
	}
	u, err := a.opt.Access.UpdateUser(c.Request().Context(), c.actor(), c.path("username"), access.UserEdit(in))
	if err != nil {
		return userError(err, u)
	}
	return c.ok(u)
}

func (a *API) deleteUser(c *Ctx) error {
	name := c.path("username")
	if name == c.actor() {
		return view.Errorf(view.Invalid, "cannot delete yourself")
	}
	if err := a.opt.Access.DeleteUser(c.Request().Context(), name); err != nil {
		return userError(err, access.User{})
	}
	return c.empty(http.StatusNoContent)
}

// userError classifies a refusal of a change of a login. A login that was stored while its role was not mirrored is
// told as it is: the change is there.
func userError(err error, stored access.User) error {
	var invalid *access.InvalidError
	switch {
	case errors.Is(err, access.ErrNoUser):
		return view.ErrUnknown
	case errors.Is(err, access.ErrUserExists):
		return view.Errorf(view.Invalid, "%s", access.ErrUserExists)
	case errors.As(err, &invalid):
		return view.Errorf(view.Invalid, "%s", invalid.Text)
	case stored.Username != "":
		return &partialError{text: "the login '" + stored.Username + "' is stored, but its role was not mirrored into the access document; repeat the change", err: err}
	}
	return err
}

// partialError is a fault whose text the caller needs, because a part of the change is there.
type partialError struct {
	text string
	err  error
}

func (e *partialError) Error() string { return e.text + ": " + e.err.Error() }
func (e *partialError) Unwrap() error { return e.err }
