package access

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"unicode/utf8"
)

// Parameters of stored passwords (PBKDF2-HMAC-SHA256).
const (
	Iterations = 100_000
	saltBytes  = 16
	keyBytes   = 32
	// maxPassword bounds what is hashed: longer input is refused before any work.
	maxPassword = 1024
)

// ErrPassword says that a password cannot be used.
var ErrPassword error = &InvalidError{Text: "a password has between 1 and 1024 bytes of valid UTF-8"}

// hashPassword makes the stored form of a password with a new salt.
func hashPassword(password string) (hash, salt []byte, err error) {
	if password == "" || len(password) > maxPassword || !utf8.ValidString(password) {
		return nil, nil, ErrPassword
	}
	salt = make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails: crypto/rand ends the process instead
	hash, err = pbkdf2.Key(sha256.New, password, salt, Iterations, keyBytes)
	return hash, salt, err
}

// nobody is compared against when there is no such user, so that a wrong name costs what a wrong password costs.
var nobody = UserRecord{Hash: make([]byte, keyBytes), Salt: make([]byte, saltBytes), Iterations: Iterations}

// matches compares a password with the stored form in constant time.
func (u *UserRecord) matches(password string) bool {
	if len(password) > maxPassword || u.Iterations <= 0 || len(u.Hash) == 0 {
		return false
	}
	got, err := pbkdf2.Key(sha256.New, password, u.Salt, u.Iterations, len(u.Hash))
	return err == nil && subtle.ConstantTimeCompare(got, u.Hash) == 1
}
