package config

import (
	"fmt"
	"slices"
	"strings"
)

// envRank is the rank of a key's extra environment variables: they are conventions of
// others (GOOGLE_API_KEY), so two of them may be set without contradiction.
const envRank = 10

// readEnviron takes settings from the environment. Names are `SECTION__KEY` in any case;
// a name whose first section is not ours belongs to somebody else and is passed over.
func readEnviron(environ []string, readFile func(string) ([]byte, error)) (settings []raw, problems []*Problem) {
	sorted := slices.Sorted(slices.Values(environ))
	for _, line := range sorted {
		name, text, ok := strings.Cut(line, "=")
		if !ok || name == "" {
			continue
		}
		r, secretFile, ok := envSetting(name)
		if !ok {
			continue
		}
		if secretFile {
			if text == "" {
				continue
			}
			content, err := readFile(text)
			if err != nil {
				problems = append(problems, &Problem{Key: r.name, Origin: r.origin, Message: "cannot be read: " + err.Error()})
				continue
			}
			// Editors and `echo` end a file with a newline that is no part of the secret.
			text = strings.TrimRight(string(content), "\r\n")
		}
		r.text = text
		settings = append(settings, r)
	}
	return settings, problems
}

// envSetting tells which setting an environment variable is, if it is one of ours.
func envSetting(name string) (r raw, secretFile, ok bool) {
	r = raw{source: FromEnvironment, origin: "environment " + name}
	for _, k := range registry {
		for i, extra := range k.Env {
			if strings.EqualFold(name, extra) || k.Secret && strings.EqualFold(name, extra+"_FILE") {
				r.name, r.rank = k.Name, envRank+i
				return r, !strings.EqualFold(name, extra), true
			}
		}
	}
	r.name = strings.ReplaceAll(name, "__", ":")
	if key, _, concrete, _ := resolve(r.name); key != nil {
		r.name = spelled(r.name, concrete)
		return r, false, true
	}
	if base, cut := cutSuffixFold(r.name, "_FILE"); cut {
		if key, _, _, _ := resolve(base); key != nil && key.Secret {
			r.name = base
			return r, true, true
		}
	}
	section, _, nested := strings.Cut(r.name, ":")
	return r, false, nested && ownSection(section)
}

// spelled keeps an alias as it is written, so that its rank is known, and gives a
// canonical name its canonical spelling.
func spelled(name, concrete string) string {
	if strings.EqualFold(name, concrete) {
		return concrete
	}
	return name
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n > 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n], true
	}
	return s, false
}

// lookup finds one variable by name, in any case.
func lookup(environ []string, name string) (string, bool) {
	for _, line := range environ {
		if n, text, ok := strings.Cut(line, "="); ok && strings.EqualFold(n, name) {
			return text, true
		}
	}
	return "", false
}

// EnvNames lists the environment variables of the key, strongest first.
func (k *Key) EnvNames() []string {
	names := []string{EnvName(k.Name)}
	for _, a := range k.Aliases {
		names = append(names, EnvName(a))
	}
	names = append(names, k.Env...)
	if k.Secret {
		names = append(names, fmt.Sprintf("%s_FILE", EnvName(k.Name)))
	}
	return names
}
