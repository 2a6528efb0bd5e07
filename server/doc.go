// Package server is the composition root: it makes one running server out of the other
// packages, and is the library by which another program embeds one.
//
//	settings := config.Default()
//	settings.HTTP.Port = 8080
//	s, err := server.New(server.Options{Settings: settings})
//	if err != nil {
//		return err
//	}
//	return s.Run(ctx) // until ctx ends, then drains
//
// A start is the list in steps (server.go), in dependency order; a stop is the same list
// backwards. Whatever an entry starts it also stops, and waits for.
package server
