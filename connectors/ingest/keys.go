package ingest

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// secretPrefix marks an ingest key, so that a leaked one is found by scanners.
const secretPrefix = "sfk_"

// secretBytes is the randomness of a secret. A secret of 256 random bits needs no slow hash: it cannot be guessed.
const secretBytes = 32

// NewKey makes a secret and what is stored of it. The secret is shown once and kept nowhere.
func NewKey() (secret, salt, hash string) {
	var b [secretBytes]byte
	var s [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	_, _ = rand.Read(s[:])
	secret = secretPrefix + hex.EncodeToString(b[:])
	salt = base64.StdEncoding.EncodeToString(s[:])
	return secret, salt, hashOf(secret, salt)
}

// KeyMatches reports whether a secret is the one of a stored hash. It takes the same time for every wrong secret.
func KeyMatches(secret, salt, hash string) bool {
	if !strings.HasPrefix(secret, secretPrefix) || hash == "" {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(hashOf(secret, salt)), []byte(hash)) == 1
}

func hashOf(secret, salt string) string {
	h := sha256.New()
	h.Write([]byte(salt))
	h.Write([]byte{0})
	h.Write([]byte(secret))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}
