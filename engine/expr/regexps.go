package expr

import (
	"regexp"

	"github.com/streamsforge/streamsforge/engine/types"
)

// memo keeps what a call prepared from arguments that seldom change.
type memo struct {
	pattern string
	re      *regexp.Regexp
	known   bool
}

// compiled returns the expression of a pattern with flags; nil when it is none.
func (m *memo) compiled(pattern []byte) *regexp.Regexp {
	if !m.known || m.pattern != string(pattern) {
		m.pattern, m.known = string(pattern), true
		m.re, _ = regexp.Compile(m.pattern)
	}
	return m.re
}

// regexpFunctions use RE2, whose time is linear in the text. A pattern that is none gives NULL.
var regexpFunctions = []scalar{
	{name: "REGEXP_EXTRACT", aliases: []string{"REGEXP_SUBSTR"}, sign: "REGEXP_EXTRACT(s, pattern [, group])", doc: "The first match of the RE2 pattern, or one of its groups; NULL when there is none.",
		example: "REGEXP_EXTRACT('ab12', '([a-z]+)([0-9]+)', 2) = '12'", params: kinds(text, text, long), min: 2, max: 3, result: text, row: func(r *rowArgs) bool {
			re := r.memo.compiled(r.text(1))
			if re == nil {
				return false
			}
			group := int64(0)
			if r.count() == 3 {
				group = r.long(2)
			}
			at := re.FindSubmatchIndex(r.text(0))
			if at == nil || group < 0 || group >= int64(len(at)/2) || at[2*group] < 0 {
				return false
			}
			return r.give(r.text(0)[at[2*group]:at[2*group+1]])
		}},
	{name: "REGEXP_LIKE", sign: "REGEXP_LIKE(s, pattern)", doc: "True when the RE2 pattern matches somewhere in s.", example: "REGEXP_LIKE('ab12', '[0-9]+$') = TRUE",
		params: kinds(text), min: 2, max: 2, result: types.Bool, row: func(r *rowArgs) bool {
			re := r.memo.compiled(r.text(1))
			return re != nil && r.truth(re.Match(r.text(0)))
		}},
	{name: "REGEXP_REPLACE", sign: "REGEXP_REPLACE(s, pattern, to)", doc: "Every match of the RE2 pattern replaced; $1 in to is the first group.", example: "REGEXP_REPLACE('a1b2', '([0-9])', '<$1>') = 'a<1>b<2>'",
		params: kinds(text), min: 3, max: 3, result: text, row: func(r *rowArgs) bool {
			re := r.memo.compiled(r.text(1))
			return re != nil && r.give(re.ReplaceAll(r.text(0), r.text(2)))
		}},
}
