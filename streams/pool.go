package streams

import (
	"sync"

	"github.com/nats-io/nats.go"
)

// Readers share a few connections: one each would cost about 150 KB, one for all would let the slowest transfer stand
// before everybody's next row.
const (
	headConns = 2
	bulkConns = 2
)

// readerPool hands out the connection with the fewest readers.
type readerPool struct {
	mu    sync.Mutex
	conns []*pooled
}

type pooled struct {
	conn    *nats.Conn
	bulk    bool
	readers int
}

func (p *readerPool) open(dial func(string) (*nats.Conn, error)) error {
	for i := range headConns + bulkConns {
		bulk := i >= headConns
		name := "read"
		if bulk {
			name = "bulk-read"
		}
		c, err := dial(name)
		if err != nil {
			return err
		}
		p.conns = append(p.conns, &pooled{conn: c, bulk: bulk})
	}
	return nil
}

func (p *readerPool) take(bulk bool) *pooled {
	p.mu.Lock()
	defer p.mu.Unlock()
	var best *pooled
	for _, c := range p.conns {
		if c.bulk == bulk && (best == nil || c.readers < best.readers) {
			best = c
		}
	}
	best.readers++
	return best
}

func (p *readerPool) give(c *pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.readers--
}

func (p *readerPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.conn.Close()
	}
}
