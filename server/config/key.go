package config

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Type says what a value must look like.
type Type string

// The types of values.
const (
	Text    Type = "text"
	Int     Type = "number"
	Bool    Type = "true or false"
	Port    Type = "port"
	Bytes   Type = "bytes"
	Millis  Type = "milliseconds"
	Seconds Type = "seconds"
	Choice  Type = "choice"
	Address Type = "host:port"
	Path    Type = "path"
	URL     Type = "URL"
)

// Key is one setting.
type Key struct {
	// Name is the canonical spelling. A segment in angle brackets is open: `<n>` is a
	// list index, `<name>` any name.
	Name string
	Type Type
	// Default is the text form of the default, as a user would write it.
	Default string
	// DefaultNote replaces Default in the docs where the default is computed.
	DefaultNote string
	// Doc is the meaning: one or two full sentences.
	Doc string
	// Secret values are masked wherever they are shown, and their environment
	// variable has a `_FILE` twin that names a file holding the value.
	Secret bool
	// Hot keys take effect without a restart.
	Hot bool
	// Ignored says why a documented key has no effect here; setting it warns once.
	Ignored string
	// Pending names the part of the product that will read the key. Until that part
	// exists, setting the key is accepted with a warning.
	Pending string
	// Refused makes a Pending key an error instead of a warning: going on without what it
	// asks for would break a promise (rows in another cluster, secrets encrypted at rest).
	Refused bool
	// Aliases are other spellings, accepted wherever Name is.
	Aliases []string
	// Env lists further environment variables by their exact names, strongest first.
	Env []string
	// Choices are the words of a Choice, in documentation order.
	Choices []string
	// Min and Max bound a number; both zero is unbounded below MaxInt64.
	Min, Max int64

	ref func(s *Settings, params []string) any
}

// EnvName is the environment spelling of a key name: `Http:Port` is `HTTP__PORT`.
func EnvName(name string) string {
	return strings.ToUpper(strings.ReplaceAll(strings.ReplaceAll(name, "-", "_"), ":", "__"))
}

// Section is the first part of the name, or the whole name of a top-level key.
func (k *Key) Section() string {
	s, _, _ := strings.Cut(k.Name, ":")
	return s
}

// Open tells whether the key stands for a family: a list or a map.
func (k *Key) Open() bool { return strings.Contains(k.Name, "<") }

// Expect says in words what a value of this key must be, as the end of "expected ...".
func (k *Key) Expect() string {
	switch k.Type {
	case Choice:
		return orList(k.Choices)
	case Bool:
		return "true or false"
	case Port:
		return "a port number from 0 to 65535 (0 takes a free one)"
	case Address:
		return "host:port, such as 127.0.0.1:4222, or nothing"
	case URL:
		return "an absolute URL, such as https://example.com, or nothing"
	case Int, Bytes, Millis, Seconds:
		what := map[Type]string{Int: "a whole number", Bytes: "a whole number of bytes", Millis: "a whole number of milliseconds", Seconds: "a whole number of seconds"}[k.Type]
		switch {
		case k.Max != 0:
			return fmt.Sprintf("%s from %d to %d", what, k.Min, k.Max)
		case k.Min == math.MinInt64:
			return what
		default:
			return fmt.Sprintf("%s, %d or more", what, k.Min)
		}
	case Path:
		return "a path"
	default:
		return "text"
	}
}

// parse puts the text form of a value into the settings.
func (k *Key) parse(s *Settings, params []string, text string) bool {
	ref := k.ref(s, params)
	switch k.Type {
	case Bool:
		v, ok := parseBool(text)
		if ok {
			*ref.(*bool) = v
		}
		return ok
	case Port, Int, Bytes, Millis, Seconds:
		v, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil || v < k.Min || v > k.high() {
			return false
		}
		switch p := ref.(type) {
		case *int:
			*p = int(v)
		case *int64:
			*p = v
		case *time.Duration:
			*p = time.Duration(v) * k.unit()
		}
		return true
	case Choice:
		i := slices.IndexFunc(k.Choices, func(c string) bool { return strings.EqualFold(c, text) })
		if i < 0 {
			return false
		}
		*ref.(*string) = k.Choices[i]
		return true
	case Address:
		if text != "" {
			_, port, err := net.SplitHostPort(text)
			if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
				return false
			}
		}
	case URL:
		if text != "" {
			if u, err := url.Parse(text); err != nil || u.Scheme == "" || u.Host == "" {
				return false
			}
		}
	}
	switch p := ref.(type) {
	case *string:
		*p = text
	case entry:
		if p.s.Endpoints == nil {
			p.s.Endpoints = map[string]string{}
		}
		p.s.Endpoints[foldName(p.name)] = text
	}
	return true
}

func (k *Key) unit() time.Duration {
	if k.Type == Seconds {
		return time.Second
	}
	return time.Millisecond
}

func (k *Key) high() int64 {
	switch {
	case k.Type == Port:
		return 65535
	case k.Max != 0:
		return k.Max
	case k.Type == Millis:
		return math.MaxInt64 / int64(time.Millisecond)
	case k.Type == Seconds:
		return math.MaxInt64 / int64(time.Second)
	default:
		return math.MaxInt64
	}
}

// format is the text form of the value that the settings hold for the key.
func (k *Key) format(s *Settings, params []string) string {
	switch p := k.ref(s, params).(type) {
	case *bool:
		return strconv.FormatBool(*p)
	case *int:
		return strconv.Itoa(*p)
	case *int64:
		return strconv.FormatInt(*p, 10)
	case *time.Duration:
		return strconv.FormatInt(int64(*p/k.unit()), 10)
	case *string:
		return *p
	case entry:
		return p.s.Endpoints[foldName(p.name)]
	default:
		panic(fmt.Sprintf("BUG: key %s is bound to a %T", k.Name, p))
	}
}

func parseBool(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1", "yes", "on":
		return true, true
	case "false", "0", "no", "off":
		return false, true
	}
	return false, false
}

func orList(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
