package syntax

// SplitInsert takes "INSERT INTO sink" off a statement: sugar that a definition's editor writes and the engine never
// sees. found is false for a statement that does not start with INSERT; rest is then the statement. A problem is
// reported at the start of the statement.
func SplitInsert(src string) (sink, rest string, found bool, problem *Diagnostic) {
	tokens, _ := lex(src)
	at := func(i int) Token { return tokens[min(i, len(tokens)-1)] }
	if !at(0).is("INSERT") {
		return "", src, false, nil
	}
	fail := func(what string, t Token) (string, string, bool, *Diagnostic) {
		return "", src, true, &Diagnostic{Pos: at(0).Pos, Code: "insert", Message: "expected " + what + ", found " + t.describe(),
			Hint: "write INSERT INTO sink SELECT ..."}
	}
	switch {
	case !at(1).is("INTO"):
		return fail("INTO after INSERT", at(1))
	case at(2).Kind != Word || at(2).is("SELECT") || at(2).is("WITH"):
		return fail("the name of a sink", at(2))
	case !at(3).is("SELECT") && !at(3).is("WITH"):
		return fail("SELECT or WITH", at(3))
	}
	return at(2).Text, src[at(3).Pos.Offset:], true, nil
}
