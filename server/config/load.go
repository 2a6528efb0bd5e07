package config

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// FileName is the configuration file that is read from the working directory when
// `--config` names no other.
const FileName = "streamsforge.json"

// Input is everything that Load reads, so that a test needs no process of its own.
type Input struct {
	Args    []string // command line without the program's name and the command
	Environ []string // "NAME=value"
	Dir     string   // working directory: where streamsforge.json is looked for

	Version  string // build version, the default of Version
	Hostname string // default of InstanceName; empty asks the operating system

	// ReadFile is os.ReadFile when nil.
	ReadFile func(path string) ([]byte, error)
}

// Source is where a value came from, strongest last.
type Source uint8

// The sources of a value.
const (
	FromDefault Source = iota
	FromPort           // the environment variable PORT, which only supplies defaults
	FromFile
	FromEnvironment
	FromFlag
)

// Value is the effective value of one key.
type Value struct {
	Key    *Key
	Name   string // concrete: `Endpoints:eu-feed` where the key is `Endpoints:<name>`
	Text   string // unmasked; show Shown instead
	Source Source
	Origin string // in words: "default", "flag --Http:Port", "environment HTTP__PORT", "file streamsforge.json:4"
}

// Shown is the value as it may be printed: secrets are masked.
func (v Value) Shown() string { return mask(v.Key, v.Text) }

// Loaded is a configuration together with where each value came from.
type Loaded struct {
	Settings Settings
	File     string   // the configuration file that was read, or empty
	Warnings []string // one line each: keys without effect in this version
	Help     bool     // -h or --help was among the arguments

	values map[string]Value // by folded concrete name
}

// Default is the configuration of a server that was told nothing.
func Default() Settings {
	l, err := Load(Input{ReadFile: func(string) ([]byte, error) { return nil, os.ErrNotExist }})
	if err != nil {
		panic("BUG: the defaults are not valid: " + err.Error())
	}
	return l.Settings
}

// raw is one setting as a source spelled it, before anybody knows whether it exists.
type raw struct {
	name   string
	text   string
	origin string
	source Source
	rank   int  // among spellings of one key in one source: 0 is the canonical name
	bare   bool // a flag without a value
}

// Load reads all sources and returns the effective configuration. The error is an
// Errors with every problem; the loaded values are returned beside it, so that
// `config check` can go on to say more.
func Load(in Input) (*Loaded, error) {
	if in.ReadFile == nil {
		in.ReadFile = os.ReadFile
	}
	l := &loader{in: in, chosen: map[string]choice{}}

	flags, path, help, problems := readFlags(in.Args)
	l.problems = append(l.problems, problems...)
	l.out.Help = help
	file, name, problems := readFile(in, path)
	l.problems = append(l.problems, problems...)
	l.out.File = name
	env, problems := readEnviron(in.Environ, in.ReadFile)
	l.problems = append(l.problems, problems...)

	l.portDefaults()
	l.take(file)
	l.take(env)
	l.take(flags)
	l.fill()
	l.problems = append(l.problems, check(&l.out)...)
	if len(l.problems) > 0 {
		return &l.out, Errors(l.problems)
	}
	return &l.out, nil
}

type choice struct {
	raw
	key      *Key
	params   []string
	concrete string
}

type loader struct {
	in       Input
	out      Loaded
	problems []*Problem
	chosen   map[string]choice // by folded concrete name
}

// portDefaults lets PORT, which container platforms set, stand in for the defaults of
// the two listeners. It is weaker than the file on purpose: it is a default, not a wish.
func (l *loader) portDefaults() {
	text, ok := lookup(l.in.Environ, "PORT")
	if !ok || text == "" {
		return
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		l.problems = append(l.problems, &Problem{Key: "Http:Port", Value: text, Origin: "environment PORT", Expected: "a port number from 0 to 65535"})
		return
	}
	l.take([]raw{{name: "Http:Port", text: text, origin: "environment PORT", source: FromPort}})
	if grpc := port + 100; port != 0 && grpc <= 65535 {
		l.take([]raw{{name: "Grpc:Port", text: strconv.Itoa(grpc), origin: "environment PORT + 100", source: FromPort}})
	}
}

// take enters the settings of one source over those of weaker ones.
func (l *loader) take(settings []raw) {
	for _, r := range settings {
		key, params, concrete, alias := resolve(r.name)
		if key == nil {
			l.problems = append(l.problems, unknown(r))
			continue
		}
		if alias && r.rank == 0 {
			r.rank = 1
		}
		if r.bare {
			if key.Type != Bool {
				l.problems = append(l.problems, &Problem{Key: concrete, Origin: r.origin, Message: "has no value", Expected: key.Expect()})
				continue
			}
			r.text = "true"
		}
		c := choice{r, key, params, concrete}
		id := fold(concrete)
		if before, ok := l.chosen[id]; ok && before.source == r.source {
			if contradict(before.raw, r) {
				l.problems = append(l.problems, &Problem{Key: concrete, Origin: before.origin + " and " + r.origin,
					Message: "is set twice, to different values", Hint: "keep one of the two"})
				continue
			}
			if before.rank < r.rank {
				continue
			}
		}
		l.chosen[id] = c
	}
}

// contradict tells whether two settings of one key in one source leave open which is
// meant. A repeated flag does not: the later one counts, as users expect of a command line.
func contradict(a, b raw) bool {
	if a.text == b.text || a.rank >= envRank || b.rank >= envRank {
		return false
	}
	return a.rank != b.rank || a.source == FromEnvironment
}

// fill parses what was chosen into the settings, and the defaults of the rest.
func (l *loader) fill() {
	l.out.values = map[string]Value{}
	s := &l.out.Settings

	chosen := make([]choice, 0, len(l.chosen))
	for _, c := range l.chosen {
		chosen = append(chosen, c)
	}
	sort.Slice(chosen, func(i, j int) bool { return lessConcrete(chosen[i].concrete, chosen[j].concrete) })

	for _, k := range registry {
		if k.Open() {
			continue
		}
		text := k.Default
		switch k.Name {
		case "InstanceName":
			text = l.hostname()
		case "Version":
			text = l.in.Version
		}
		if !k.parse(s, nil, text) {
			panic(fmt.Sprintf("BUG: key %s has a default %q that is not %s", k.Name, text, k.Expect()))
		}
		l.out.values[fold(k.Name)] = Value{Key: k, Name: k.Name, Text: text, Source: FromDefault, Origin: "default"}
	}

	dense := map[string]map[string]string{} // list prefix -> index as written -> dense index
	for _, c := range chosen {
		params := c.params
		if prefix, ok := listPrefix(c.key); ok {
			if dense[prefix] == nil {
				dense[prefix] = map[string]string{}
			}
			if _, ok := dense[prefix][params[0]]; !ok {
				dense[prefix][params[0]] = strconv.Itoa(len(dense[prefix]))
			}
			params = []string{dense[prefix][params[0]]}
		}
		// An empty environment variable is how compose files spell "not set"; only where
		// empty text is a value of its own does it count.
		if c.text == "" && c.source == FromEnvironment && !c.key.takesEmpty() {
			continue
		}
		if c.key.Refused && c.text != "" {
			l.problems = append(l.problems, &Problem{Key: c.concrete, Origin: c.origin, Message: "cannot be set yet", Hint: "this version does not have " + c.key.Pending})
			continue
		}
		if !c.key.parse(s, params, c.text) {
			l.problems = append(l.problems, &Problem{Key: c.concrete, Value: mask(c.key, c.text), Origin: c.origin, Expected: c.key.Expect(), hasValue: true})
			continue
		}
		l.out.values[fold(c.concrete)] = Value{Key: c.key, Name: c.concrete, Text: c.key.format(s, params), Source: c.source, Origin: c.origin}
		switch {
		case c.source == FromPort:
		case c.key.Ignored != "":
			l.out.Warnings = append(l.out.Warnings, fmt.Sprintf("%s (%s) is accepted and ignored: %s", c.concrete, c.origin, c.key.Ignored))
		case c.key.Pending != "":
			l.out.Warnings = append(l.out.Warnings, fmt.Sprintf("%s (%s) has no effect yet: this version does not have %s", c.concrete, c.origin, c.key.Pending))
		}
	}
	if len(s.CORS.AllowedOrigins) == 0 {
		s.CORS.AllowedOrigins = slices.Clone(defaultOrigins)
	}
}

func (l *loader) hostname() string {
	if l.in.Hostname != "" {
		return l.in.Hostname
	}
	name, err := os.Hostname()
	if err != nil {
		return "streamsforge"
	}
	return name
}

// takesEmpty tells whether empty text is a value of the key.
func (k *Key) takesEmpty() bool {
	return k.Type == Text || k.Type == Path || k.Type == URL || k.Type == Address
}

// listPrefix is the name of the list that a key with an index belongs to.
func listPrefix(k *Key) (string, bool) {
	prefix, _, ok := strings.Cut(k.Name, ":<n>")
	return prefix, ok
}

// lessConcrete orders names segment by segment, indexes as numbers.
func lessConcrete(a, b string) bool {
	as, bs := strings.Split(fold(a), ":"), strings.Split(fold(b), ":")
	for i := 0; i < len(as) && i < len(bs); i++ {
		if as[i] == bs[i] {
			continue
		}
		x, errX := strconv.Atoi(as[i])
		y, errY := strconv.Atoi(bs[i])
		if errX == nil && errY == nil && x != y {
			return x < y
		}
		return as[i] < bs[i]
	}
	return len(as) < len(bs)
}
