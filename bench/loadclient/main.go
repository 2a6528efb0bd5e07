// Command loadclient publishes rows to a source as an external NATS client: over TCP, with user and password, by
// JetStream publish with a window of unanswered messages. The rows are a function of seed and number, so whoever reads
// the source afterwards knows what must be in it; the client prints that, and its speed, as one JSON object.
//
//	loadclient -source trades -user admin -password … -rows 1000000
//	loadclient -source trades -rows 1000000 -bad 1 -per-message 100 -acks acked.txt
//
// A row has 128 bytes: {"symbol","price","qty","side","_ts","trade_id"}. With -bad every so manieth row is cut in the
// middle, exactly that share of all. With -acks every acknowledged message is a line "sequence firstRow rows".
//
// The exit code is 0 when every message was acknowledged, 1 when the connection or the server refused, 2 for wrong
// flags.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var o options
	fs := flag.NewFlagSet("loadclient", flag.ContinueOnError)
	fs.StringVar(&o.url, "url", "nats://127.0.0.1:4222", "address of the server")
	fs.StringVar(&o.user, "user", "admin", "user")
	fs.StringVar(&o.password, "password", os.Getenv("SF_PASSWORD"), "password; the default is $SF_PASSWORD")
	fs.StringVar(&o.env, "env", "default", "environment of the source")
	fs.StringVar(&o.source, "source", "trades", "name of the source")
	fs.Int64Var(&o.rows, "rows", 1_000_000, "rows to publish")
	fs.Int64Var(&o.first, "first", 0, "number of the first row")
	fs.Int64Var(&o.seed, "seed", 1, "seed of the rows")
	fs.IntVar(&o.perMessage, "per-message", 1, "rows in one message")
	fs.Float64Var(&o.bad, "bad", 0, "percent of the rows that cannot be decoded")
	fs.Float64Var(&o.rate, "rate", 0, "rows a second, 0 for as fast as possible")
	fs.IntVar(&o.window, "window", 1024, "messages without an answer at once")
	fs.StringVar(&o.acks, "acks", "", "file for the acknowledged sequences")
	fs.DurationVar(&o.timeout, "timeout", 30*time.Second, "longest wait for one answer")
	if err := fs.Parse(os.Args[1:]); err != nil {
		os.Exit(2)
	}
	if err := o.check(); err != nil {
		fmt.Fprintln(os.Stderr, "loadclient:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report := run(ctx, o)
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(report); err != nil || report.Error != "" {
		os.Exit(1)
	}
}
