package connectors_test

import (
	"context"
	"fmt"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/connectorstest"
)

// greeter is a polled source with one row a cycle; its cursor counts them.
type greeter struct{ n int }

func (g *greeter) Open(_ context.Context, cursor string) error {
	_, _ = fmt.Sscan(cursor, &g.n) // "" at the first start
	return nil
}

func (g *greeter) Read(context.Context) (connectors.Read, error) {
	if g.n%2 == 1 {
		g.n++
		return connectors.Read{}, connectors.ErrEndOfInput
	}
	g.n++
	row := fmt.Appendf(nil, `{"hello":%d}`, g.n)
	return connectors.Read{Messages: []connectors.Message{{Data: row, ContentType: connectors.ContentJSON, Rows: 1}}, Cursor: fmt.Sprint(g.n + 1)}, nil
}

func (g *greeter) Close(context.Context) error { return nil }

// A kind is a New function and a descriptor; the Driver does everything else.
func Example() {
	kind := connectors.Kind{
		Name:       "greeter",
		Descriptor: connectors.Descriptor{Label: "Greeter", Polled: true, ConfigProperty: "settings"},
		New:        func(connectors.Definition, connectors.Env) (connectors.Source, error) { return &greeter{}, nil },
	}
	log, clock := &connectorstest.Log{}, connectorstest.NewClock()
	d, err := connectors.NewDriver(kind, connectors.Definition{Name: "hello", Kind: "greeter"}, connectors.DriverOptions{
		Log: log, Cursors: &connectorstest.Cursors{}, Env: connectors.Env{Clock: clock},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- d.Run(ctx) }()
	until, _ := clock.AwaitWaiter(ctx) // the first cycle is over
	stop()
	fmt.Println(<-done)
	fmt.Printf("%s, next run after %v\n", log.Messages()[0].Data, until.Sub(connectorstest.Start))
	// Output:
	// context canceled
	// {"hello":1}, next run after 30s
}
