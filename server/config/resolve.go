package config

import (
	"cmp"
	"slices"
	"strings"
)

// fold makes two spellings of one name equal.
func fold(name string) string { return strings.ToLower(name) }

// resolve finds the key behind a spelled name: the values of its open segments, its
// concrete canonical name, and whether an alias was used. The key is nil when no key
// has that name.
func resolve(name string) (key *Key, params []string, concrete string, alias bool) {
	parts := strings.Split(name, ":")
	for _, k := range registry {
		if params, ok := match(k.Name, parts); ok {
			return k, params, substitute(k.Name, params), false
		}
		for _, a := range k.Aliases {
			if params, ok := match(a, parts); ok {
				return k, params, substitute(k.Name, params), true
			}
		}
	}
	return nil, nil, "", false
}

func match(pattern string, parts []string) (params []string, ok bool) {
	want := strings.Split(pattern, ":")
	if len(want) != len(parts) {
		return nil, false
	}
	for i, w := range want {
		switch {
		case w == "<n>":
			if !isIndex(parts[i]) {
				return nil, false
			}
			params = append(params, parts[i])
		case w[0] == '<':
			if parts[i] == "" {
				return nil, false
			}
			params = append(params, foldName(parts[i]))
		case !strings.EqualFold(w, parts[i]):
			return nil, false
		}
	}
	return params, true
}

// isIndex accepts list indexes of up to six digits: a longer one is a typing error,
// not a list.
func isIndex(s string) bool {
	return s != "" && len(s) <= 6 && strings.Trim(s, "0123456789") == ""
}

// substitute puts the values of open segments into a pattern.
func substitute(pattern string, params []string) string {
	parts := strings.Split(pattern, ":")
	for i, p := range parts {
		if p[0] == '<' {
			parts[i], params = params[0], params[1:]
		}
	}
	return strings.Join(parts, ":")
}

// ownSection tells whether the first segment of a name is one of the registry's.
func ownSection(section string) bool {
	for _, k := range registry {
		if strings.EqualFold(k.Section(), section) && strings.Contains(k.Name, ":") {
			return true
		}
		for _, a := range k.Aliases {
			if first, _, nested := strings.Cut(a, ":"); nested && strings.EqualFold(first, section) {
				return true
			}
		}
	}
	return false
}

// suggest names the key that the user probably meant, or returns "".
func suggest(name string) string {
	type guess struct {
		name     string
		distance int
	}
	parts := strings.Split(fold(name), ":")
	last := parts[len(parts)-1]
	var best []guess
	for _, k := range registry {
		for _, spelled := range append([]string{k.Name}, k.Aliases...) {
			d := distance(fold(name), fold(spelled))
			segments := strings.Split(fold(spelled), ":")
			// `--Port` or `--Data:Dir` name the right word in the wrong place.
			if segments[len(segments)-1] == last || strings.ReplaceAll(fold(spelled), ":", "") == strings.Join(parts, "") {
				d = min(d, 2)
			}
			best = append(best, guess{k.Name, d})
		}
	}
	slices.SortStableFunc(best, func(a, b guess) int { return cmp.Compare(a.distance, b.distance) })
	if best[0].distance > max(2, len(name)/4) {
		return ""
	}
	return best[0].name
}

// distance counts the edits (insert, delete, replace, swap of neighbours) between two words.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
