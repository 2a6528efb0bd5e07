package view

// Offsets in the answers to an editor count UTF-16 code units, as the strings of a browser do.

// SqlCompletion lists what can be written at a place of a statement, best first. An item replaces the text From to To.
type SqlCompletion struct {
	From  int                 `json:"from"`
	To    int                 `json:"to"`
	Items []SqlCompletionItem `json:"items"`
}

// SqlCompletionItem is one thing that can be written.
type SqlCompletionItem struct {
	Label string `json:"label"`
	// Kind is column, alias, relation, query, aggregate, function, keyword, snippet, type or unit.
	Kind string `json:"kind"`
	// Insert is what is written; with Snippet it has places to fill in, ${1:text}.
	Insert  string `json:"insert"`
	Snippet bool   `json:"snippet"`
	Detail  string `json:"detail"`
	Doc     string `json:"doc"`
}

// SqlHover says what the word From to To of a statement is.
type SqlHover struct {
	From  int      `json:"from"`
	To    int      `json:"to"`
	Kind  string   `json:"kind"`
	Title string   `json:"title"`
	Lines []string `json:"lines"`
}

// SqlSignature is the call around a place of a statement. Active is the parameter that is being written, -1 for none.
type SqlSignature struct {
	Label      string         `json:"label"`
	Parameters []SqlParameter `json:"parameters"`
	Active     int            `json:"active"`
	Result     string         `json:"result"`
	Doc        string         `json:"doc"`
}

// SqlParameter is one parameter of a call: its name, and where it stands in the label.
type SqlParameter struct {
	Label string `json:"label"`
	From  int    `json:"from"`
	To    int    `json:"to"`
}

// SqlFormatted is a statement laid out, or the problems because of which it is left as it is.
type SqlFormatted struct {
	SQL         *string         `json:"sql"`
	Diagnostics []SqlDiagnostic `json:"diagnostics"`
}
