package server_test

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/streamsforge/streamsforge/server"
	"github.com/streamsforge/streamsforge/server/config"
)

// A program that embeds the server chooses the settings, runs it, and ends it by its context.
func Example() {
	dir, err := os.MkdirTemp("", "streamsforge-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	settings := config.Default()
	settings.DataDir = dir
	settings.HTTP.Port = 0    // any free port
	settings.Nats.Listen = "" // no NATS clients from outside
	settings.Seed.Demo = false

	s, err := server.New(server.Options{Settings: settings})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	select {
	case <-s.Ready():
	case err := <-ended:
		panic(err)
	}
	response, err := http.Get(s.Started().REST + "/healthz")
	if err != nil {
		panic(err)
	}
	response.Body.Close()
	fmt.Println("health:", response.StatusCode)

	stop()
	fmt.Println("ended:", <-ended)
	// Output:
	// health: 200
	// ended: context canceled
}
