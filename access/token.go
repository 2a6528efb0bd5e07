package access

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// ErrToken refuses a token; why is for the log, not for the caller.
var ErrToken = errors.New("the token is not valid")

const clockSkew = time.Minute

type claims struct {
	jwt.RegisteredClaims
	Name    string `json:"name"`
	Display string `json:"display"`
	Role    Role   `json:"role"`
}

// identity is what a verified token says.
type identity struct {
	username, display, id string
	role                  Role
	expires               time.Time
}

func (s *Service) issue(u User) (string, error) {
	var id [16]byte
	_, _ = rand.Read(id[:])
	now := s.opt.Now()
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: u.Username, ID: hex.EncodeToString(id[:]),
			Issuer: s.opt.Issuer, Audience: jwt.ClaimStrings{s.opt.Audience},
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(TokenLife)),
		},
		Name: u.Username, Display: u.DisplayName, Role: u.Role,
	}).SignedString(s.opt.Key)
}

// verify checks signature, algorithm, issuer, audience and times. Nothing of the token is used before that.
func (s *Service) verify(token string) (identity, error) {
	var c claims
	_, err := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(clockSkew), jwt.WithStrictDecoding(),
		jwt.WithIssuer(s.opt.Issuer), jwt.WithAudience(s.opt.Audience), jwt.WithTimeFunc(s.opt.Now),
	).ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return s.opt.Key, nil })
	if err != nil {
		return identity{}, errors.Join(ErrToken, err)
	}
	if c.Subject == "" {
		return identity{}, errors.Join(ErrToken, errors.New("no subject"))
	}
	return identity{username: c.Subject, display: c.Display, id: c.ID, role: c.Role, expires: c.ExpiresAt.Time}, nil
}
