package config

import (
	"fmt"
	"strings"
)

// sections gives each part of the page its heading, in page order; the keys of a
// section that is missing here would be missing from the page, which a test refuses.
var sections = []struct{ title, first string }{
	{"Listeners and identity", "Http:Port"},
	{"Embedded and external NATS", "Nats:Url"},
	{"The log", "Streams:Storage"},
	{"Retention", "Replay:MaxEntries"},
	{"Login and permissions", "Jwt:Key"},
	{"Approvals and audit", "Approvals:Enabled"},
	{"Browser origins and chat", "Cors:AllowedOrigins:<n>"},
	{"Connectors, peers and plugins", "Ingest:DrainMs"},
	{"Tables, pipelines and sinks", "Tables:FlushMs"},
	{"TLS, secrets and dialect", "Tls:Enabled"},
}

const pageHead = `# Configuration

<!-- Generated from the key registry (server/config/registry.go) by ` + "`streamsforge config docs`" + `. Do not edit. -->

Every setting has one name, such as ` + "`Http:Port`" + `, and three spellings:

| where | spelling |
|---|---|
| command line | ` + "`--Http:Port 8080`" + ` or ` + "`--Http:Port=8080`" + `; a switch may stand alone: ` + "`--Tls:Enabled`" + ` |
| environment | ` + "`HTTP__PORT=8080`" + `, in any case; lists as ` + "`CORS__ALLOWEDORIGINS__0`" + `; ` + "`-`" + ` in endpoint names is written ` + "`_`" + ` |
| file | ` + "`{\"Http\": {\"Port\": 8080}}`" + ` in ` + "`streamsforge.json`" + ` in the working directory, or in the file that ` + "`--config`" + ` names; lists as arrays |

The first of flag, environment, file, default that has a value wins. Names are case-insensitive.

- An unknown key is an error with a suggestion, and so is a value of the wrong form; the error names the key and where the value came from. Of
  environment variables only those are judged whose first section is one of ours.
- A secret can be read from a file: ` + "`JWT__KEY_FILE=/run/secrets/jwt`" + `.
- An empty environment variable counts as not set, except where empty text is a value (text, paths, addresses).
- ` + "`streamsforge config show`" + ` prints the values in force and where each came from, secrets masked; ` + "`streamsforge config explain KEY`" + ` prints one
  entry of this page; ` + "`streamsforge config check`" + ` reads everything and reports every problem at once.
- Every key is read at the start; a change takes effect with the next start.
`

// Markdown is the page docs/configuration.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(pageHead)
	next := 0
	for _, k := range registry {
		if next < len(sections) && k.Name == sections[next].first {
			fmt.Fprintf(&b, "\n## %s\n\n| key | environment | default | meaning |\n|---|---|---|---|\n", sections[next].title)
			next++
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, k.markdownEnv(), k.markdownDefault(), k.markdownDoc())
	}
	return b.String()
}

func (k *Key) markdownEnv() string {
	names := k.EnvNames()
	for i, n := range names {
		names[i] = "`" + n + "`"
	}
	return strings.Join(names, ", ")
}

func (k *Key) markdownDefault() string {
	switch {
	case k.DefaultNote != "":
		return k.DefaultNote
	case k.Default == "":
		return "empty"
	default:
		return "`" + k.Default + "`"
	}
}

func (k *Key) markdownDoc() string {
	parts := []string{k.Doc}
	switch k.Type {
	case Choice:
		parts = append(parts, "One of `"+strings.Join(k.Choices, "`, `")+"`.")
	case Int, Bytes, Millis, Seconds:
		if k.Max != 0 || k.Min > 0 {
			parts = append(parts, upperFirst(k.Expect())+".")
		}
	}
	if len(k.Aliases) > 0 {
		parts = append(parts, "Also `"+strings.Join(k.Aliases, "`, `")+"`.")
	}
	if k.Ignored != "" {
		parts = append(parts, "*Ignored:* "+k.Ignored+".")
	}
	switch {
	case k.Refused:
		parts = append(parts, "*Refused when set:* this version does not have "+k.Pending+".")
	case k.Pending != "":
		parts = append(parts, "*No effect yet:* this version does not have "+k.Pending+".")
	}
	return strings.ReplaceAll(strings.Join(parts, " "), "|", "\\|")
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
