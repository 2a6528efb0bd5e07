package config

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// Value returns the effective value of a key by any of its spellings.
func (l *Loaded) Value(name string) (Value, bool) {
	_, _, concrete, _ := resolve(name)
	v, ok := l.values[fold(concrete)]
	return v, ok
}

// Origin says in words where the value of a key came from.
func (l *Loaded) Origin(name string) string {
	v, _ := l.Value(name)
	return v.Origin
}

// Effective returns every value that is in force: each plain key, and the entries of
// lists and maps, in documentation order.
func (l *Loaded) Effective() []Value {
	var out []Value
	for _, k := range registry {
		if !k.Open() {
			if v, ok := l.values[fold(k.Name)]; ok {
				out = append(out, v)
			}
			continue
		}
		from := len(out)
		for _, v := range l.values {
			if v.Key == k {
				out = append(out, v)
			}
		}
		of := out[from:]
		sort.Slice(of, func(i, j int) bool { return lessConcrete(of[i].Name, of[j].Name) })
		if len(of) == 0 && k.Name == "Cors:AllowedOrigins:<n>" {
			for i, origin := range defaultOrigins {
				out = append(out, Value{Key: k, Name: substitute(k.Name, []string{strconv.Itoa(i)}), Text: origin, Origin: "default"})
			}
		}
	}
	return out
}

// userInfo is the password of a URL, which may hide in any text value.
var userInfo = regexp.MustCompile(`(://[^/@:\s]*):[^/@\s]+@`)

func mask(k *Key, text string) string {
	if k.Secret {
		if text == "" {
			return ""
		}
		return "***"
	}
	return userInfo.ReplaceAllString(text, "$1:***@")
}

// Find returns the key of a name, or an error with a suggestion. A section name finds
// nothing; use Section for that.
func Find(name string) (*Key, error) {
	if key, _, _, _ := resolve(name); key != nil {
		return key, nil
	}
	for _, k := range registry {
		if strings.EqualFold(k.Name, name) {
			return k, nil
		}
		prefix, _, open := strings.Cut(k.Name, ":<")
		if open && strings.EqualFold(prefix, name) {
			return k, nil
		}
		for _, env := range k.EnvNames() {
			if strings.EqualFold(env, name) {
				return k, nil
			}
		}
	}
	return nil, unknown(raw{name: name})
}

// Section returns the keys whose first segment is name.
func Section(name string) []*Key {
	var out []*Key
	for _, k := range registry {
		if strings.EqualFold(k.Section(), name) {
			out = append(out, k)
		}
	}
	return out
}

// Explain is all that is known about a key, as text for a terminal; values holds its
// effective values and may be empty.
func (k *Key) Explain(values []Value) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n  %s\n\n", k.Name, k.Doc)
	row := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-12s %s\n", label, text)
		}
	}
	row("expects", k.Expect())
	row("default", k.defaultText())
	row("flag", "--"+k.Name+" VALUE")
	row("environment", strings.Join(k.EnvNames(), ", "))
	row("also", strings.Join(k.Aliases, ", "))
	if k.Secret {
		row("secret", "masked wherever it is shown")
	}
	if k.Hot {
		row("takes effect", "at once")
	} else {
		row("takes effect", "at the next start")
	}
	if k.Ignored != "" {
		row("ignored", k.Ignored)
	}
	switch {
	case k.Refused:
		row("refused", "this version does not have "+k.Pending)
	case k.Pending != "":
		row("no effect yet", "this version does not have "+k.Pending)
	}
	for _, v := range values {
		if v.Key == k {
			row("now", fmt.Sprintf("%s = %s (%s)", v.Name, quoteEmpty(v.Shown()), v.Origin))
		}
	}
	return b.String()
}

// defaultText is the default as the docs show it.
func (k *Key) defaultText() string {
	switch {
	case k.DefaultNote != "":
		return strings.ReplaceAll(k.DefaultNote, "`", "")
	case k.Default == "":
		return "empty"
	default:
		return k.Default
	}
}

func quoteEmpty(s string) string {
	if s == "" {
		return `""`
	}
	return s
}
