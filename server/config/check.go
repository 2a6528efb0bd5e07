package config

import (
	"fmt"
	"time"
)

// minJWTKey is the shortest signing key: HMAC-SHA256 wants at least its own length.
const minJWTKey = 32

// check holds the rules that take more than one value.
func check(l *Loaded) []*Problem {
	var out []*Problem
	s := &l.Settings
	fail := func(key, message string) {
		p := &Problem{Key: key, Message: message}
		if v, ok := l.Value(key); ok && v.Source != FromDefault {
			p.Origin = v.Origin
		}
		out = append(out, p)
	}
	if s.TLS.Enabled {
		if s.TLS.CertPath == "" {
			fail("Tls:CertPath", "must name a certificate file because Tls:Enabled is true")
		}
		if s.TLS.KeyPath == "" {
			fail("Tls:KeyPath", "must name a key file because Tls:Enabled is true")
		}
	}
	if n := len(s.JWT.Key); n > 0 && n < minJWTKey {
		fail("Jwt:Key", fmt.Sprintf("has %d bytes; a signing key needs at least %d", n, minJWTKey))
	}
	if s.DataDir == "" && s.Streams.Storage == "file" {
		fail("DataDir", "must name a directory, because Streams:Storage is file")
	}
	quantum := s.Shards.Quantum
	if quantum == 0 {
		quantum = time.Minute
	}
	if _, set := l.set("Shards:QuantumSeconds"); set && quantum >= s.Shards.Idle {
		fail("Shards:QuantumSeconds", fmt.Sprintf("is %d, which must be less than Shards:IdleSeconds (%d)", int(quantum.Seconds()), int(s.Shards.Idle.Seconds())))
	}
	for i, p := range s.Discovery.Peers {
		if p.Name == "" {
			fail(fmt.Sprintf("Discovery:Peers:%d:Name", i), "is missing; every peer needs a name")
		}
	}
	return out
}

// set returns the value of a key that a source other than the defaults supplied.
func (l *Loaded) set(name string) (Value, bool) {
	v, ok := l.Value(name)
	return v, ok && v.Source > FromPort
}

// SyncAlways tells whether each write is synced before it is acknowledged.
func (s Streams) SyncAlways() bool { return s.Sync == "always" || s.SyncInterval == 0 }
