package server

import (
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/server/config"
)

// Started says where everything is once the server takes requests.
type Started struct {
	Version string
	REST    string // base URL
	Console bool   // a console is built in
	NATS    string // address, empty when there is no listener
	DataDir string // empty: everything ends with the process
	Seeded  Seeded
	Demo    []string // logins whose password is public knowledge
	Open    bool     // others than this machine can reach it
}

// Seeded counts what the start put into an empty environment, and what it left out.
type Seeded struct {
	Sources, Pipelines, Tables int
	LeftOut                    int
}

var demoPasswords = map[string]string{"admin": "admin123!", "editor": "editor123!", "viewer": "viewer123!"}

// Text is what the command prints.
func (s Started) Text() string {
	var b strings.Builder
	row := func(label, text string) { fmt.Fprintf(&b, "  %-10s %s\n", label, text) }
	fmt.Fprintf(&b, "\nStreamsForge %s is running.\n\n", s.Version)
	console := s.REST
	if !s.Console {
		console += "  (not built into this binary: `go tool task build`)"
	}
	row("Console", console)
	row("REST", s.REST+"/api  (reference "+s.REST+"/openapi/v1.json)")
	if s.NATS != "" {
		row("NATS", "nats://"+s.NATS)
	} else {
		row("NATS", "no listener (Nats:Listen is empty)")
	}
	row("gRPC", "not in this version; its port is not open")
	if s.DataDir != "" {
		row("Data", s.DataDir)
	} else {
		row("Data", "in memory, ends with this process (Streams:Storage=memory)")
	}
	if len(s.Demo) > 0 {
		logins := make([]string, 0, len(s.Demo))
		for _, name := range s.Demo {
			if password, ok := demoPasswords[name]; ok {
				name += " / " + password
			}
			logins = append(logins, name)
		}
		row("Log in", strings.Join(logins, ", "))
	}
	if n := s.Seeded; n.Sources > 0 {
		row("Demo", fmt.Sprintf("%d sources, %d pipelines and %d tables to look at", n.Sources, n.Pipelines, n.Tables))
	}
	row("Stop", "Ctrl-C, or SIGTERM; a second one ends it at once")
	if len(s.Demo) > 0 {
		b.WriteString("\n" + demoBanner(s.Open) + "\n")
	}
	b.WriteString("\n")
	return b.String()
}

// demoWarning is one sentence for the console and the log.
func demoWarning(demo []string, settings *config.Settings) string {
	names := strings.Join(demo, ", ")
	if config.LoopbackOnly(settings.HTTP.Host) {
		return fmt.Sprintf("Demo passwords are in use (%s). Keep this server on the loopback address until they are changed with PUT /api/users/{username}.", names)
	}
	return fmt.Sprintf("Demo passwords are in use (%s) and the server listens on %s: anyone who reaches it can log in. Set Http:Host to 127.0.0.1, or change them now with PUT /api/users/{username}.", names, settings.HTTP.Host)
}

func demoBanner(open bool) string {
	lines := []string{"DEMO PASSWORDS ARE IN USE. Everyone knows them.", "Keep this server on this machine until they are changed."}
	if open {
		lines = []string{"DEMO PASSWORDS ARE IN USE AND OTHER MACHINES CAN REACH THIS SERVER.", "Anyone can log in as admin. Set Http:Host to 127.0.0.1, or change the passwords now."}
	}
	width := 0
	for _, l := range lines {
		width = max(width, len(l))
	}
	frame := "  " + strings.Repeat("!", width+6)
	out := frame
	for _, l := range lines {
		out += fmt.Sprintf("\n  !! %-*s !!", width, l)
	}
	return out + "\n" + frame
}
