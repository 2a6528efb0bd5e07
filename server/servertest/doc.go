// Package servertest runs the real binary as a process of its own for tests: start, wait until ready, kill -9,
// start again, and talk to it over REST and NATS like any client.
//
//	p := servertest.Start(t, t.TempDir())
//	c := p.Login(t, "admin", "admin123!")
//	c.Post(t, "/api/sources", body, nil)
//	p.Kill(t)
package servertest
