package streams_test

import (
	"context"
	"fmt"

	"github.com/streamsforge/streamsforge/streams"
)

// A source is a stream with many writers; a table's journal has one, which says what each entry reflects.
func Example() {
	ctx := context.Background()
	s, err := streams.Open(ctx, streams.Options{Storage: streams.StorageMemory})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close(ctx)

	trades, _ := s.EnsureSource(ctx, streams.DefaultEnv, "trades", streams.Limits{MaxBytes: 1 << 30})
	for _, row := range []string{`{"symbol":"AAPL","qty":5}`, `{"symbol":"MSFT","qty":2}`} {
		seq, _ := trades.Publish(ctx, []byte(row), nil)
		fmt.Println("stored at", seq)
	}

	r := trades.Read(1, streams.ReadOptions{Until: 2})
	defer r.Stop()
	rows := 0
	for msgs, err := r.Next(ctx); err == nil; msgs, err = r.Next(ctx) {
		rows += len(msgs)
	}
	fmt.Println("read", rows)

	table, _ := s.EnsureTable(ctx, streams.DefaultEnv, "t1", "positions", streams.Limits{})
	j, _ := streams.OpenJournal(ctx, table, 1)
	seq, err := j.Append(ctx, streams.Entry{
		Epoch: 1, Data: []byte("delta"), Inputs: []streams.Position{{Input: "trades", Incarnation: trades.Incarnation(), Seq: 2}},
	})
	fmt.Println("committed at", seq, err)
	// Output:
	// stored at 1
	// stored at 2
	// read 2
	// committed at 1 <nil>
}
