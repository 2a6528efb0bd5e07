package enginetest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Command is one block of a script: a line of words, and the text up to the dashes.
type Command struct {
	// Name is the first word: source, table, pipeline, invalid, parse, plan, stages, step, advance, rows, metrics, restart,
	// reset.
	Name string
	// Words are the other words; key=value words are in Options.
	Words   []string
	Options map[string]string
	Input   string
}

// Run runs one command and returns its output. held says that the variant holds the step back, so that its output
// cannot be compared. An error is a fault of the script or of the engine, not an expected diagnostic.
func (w *World) Run(c Command) (output string, held bool, err error) {
	switch c.Name {
	case "source":
		output, err = w.runSource(c)
	case "table":
		output, err = w.runDefine(c, engine.TableMode)
	case "pipeline":
		output, err = w.runDefine(c, engine.PipelineMode)
	case "invalid":
		output, err = w.runInvalid(c)
	case "parse":
		output = runParse(c.Input)
	case "plan":
		output, err = w.runPlan(c)
	case "stages":
		output, err = w.runStages(c)
	case "step":
		var rows []Event
		if rows, err = w.parseRows(c.Input); err == nil {
			err = w.Step(rows)
		}
		held = w.variant == Coalesced || w.variant == Joined
		output = w.changes()
	case "advance":
		var d time.Duration
		if d, err = time.ParseDuration(c.word(0)); err == nil {
			err = w.Advance(d.Milliseconds())
		}
		output = w.changes()
	case "rows":
		output, err = w.runRows(c.word(0))
	case "metrics":
		output, err = w.runMetrics(c.word(0))
	case "restart":
		w.Restart()
		output, err = "ok", w.problem
	case "reset":
		*w = *NewWorld(w.variant)
		output = "ok"
	default:
		err = fmt.Errorf("unknown command %q", c.Name)
	}
	return strings.TrimRight(output, "\n") + "\n", held, err
}

func (c Command) word(i int) string {
	if i < len(c.Words) {
		return c.Words[i]
	}
	return ""
}

// runSource declares a source: one column a line. With "updating" it is a table of somebody else: its rows can be
// taken back; key=a,b names what identifies them, time=false says that they have no event time.
func (w *World) runSource(c Command) (string, error) {
	r := engine.Relation{Name: c.word(0), Kind: engine.Source, EventTime: true, AppendOnly: true}
	for _, word := range c.Words[min(1, len(c.Words)):] {
		if word != "updating" {
			return "", fmt.Errorf("source: unknown word %q", word)
		}
		r.Kind, r.AppendOnly = engine.Table, false
	}
	if k, ok := c.Options["key"]; ok {
		r.Key = strings.Split(k, ",")
	}
	if k, ok := c.Options["upsert"]; ok {
		r.Key = strings.Split(k, ",")
	}
	r.EventTime = c.Options["time"] != "false"
	for _, line := range strings.Split(strings.TrimSpace(c.Input), "\n") {
		words := strings.Fields(line)
		if len(words) != 2 {
			return "", fmt.Errorf("source: a column is written as name and kind, found %q", line)
		}
		name, array := strings.CutSuffix(words[1], "[]")
		k, err := types.ParseKind(name)
		if err != nil {
			return "", err
		}
		r.Schema = append(r.Schema, types.Field{Name: words[0], Kind: k, IsArray: array})
	}
	w.Declare(r)
	return "ok", nil
}

func (c Command) timeOptions() (o engine.Options, err error) {
	for name, to := range map[string]*int64{"idle": &o.IdleMs, "lag": &o.LatenessMs, "lateness": &o.AllowedLatenessMs} {
		if v, ok := c.Options[name]; ok {
			d, parse := time.ParseDuration(v)
			if parse != nil {
				return o, parse
			}
			*to = d.Milliseconds()
		}
	}
	o.StrictNotIn = c.Options["strict"] == "true"
	o.StateWarnings = c.Options["state"] == "true"
	if v, ok := c.Options["rows"]; ok {
		if o.Retention.MaxRows, err = strconv.ParseInt(v, 10, 64); err != nil {
			return o, err
		}
	}
	if v, ok := c.Options["ttl"]; ok {
		d, parse := time.ParseDuration(v)
		o.Retention.TTLMs, err = d.Milliseconds(), parse
	}
	return o, err
}

// runDefine compiles a table or pipeline and shows its schema, key and changelog mode; or what is wrong with it.
func (w *World) runDefine(c Command, mode engine.Mode) (string, error) {
	o, err := c.timeOptions()
	if err != nil {
		return "", err
	}
	partitions := w.partitions()
	if v, ok := c.Options["parallel"]; ok {
		if partitions, err = strconv.Atoi(v); err != nil {
			return "", err
		}
		if refused := w.refused(strings.TrimSpace(c.Input), mode, o, partitions); refused != nil {
			return refused.Error(), nil //nolint:nilerr // the refusal is what the script shows
		}
	}
	p, problems := w.define(c.word(0), strings.TrimSpace(c.Input), mode, o, partitions)
	var b strings.Builder
	if p != nil {
		b.WriteString(p.Output().String())
		if mode == engine.TableMode {
			if keys, whole := p.KeyFields(); whole {
				b.WriteString(" | whole row")
			} else {
				b.WriteString(" | key (" + strings.Join(keys, ", ") + ")")
			}
		}
		b.WriteString(" | " + p.Changelog().String() + "\n")
	}
	writeProblems(&b, problems)
	if e, err := w.entity(c.word(0)); p != nil && err == nil {
		w.writeDelta(&b, e)
	}
	return b.String(), w.problem
}

func writeProblems(b *strings.Builder, problems []engine.Diagnostic) {
	for _, d := range problems {
		b.WriteString(d.String() + "\n")
	}
}

func (w *World) runInvalid(c Command) (string, error) {
	mode := engine.TableMode
	if c.word(0) == "pipeline" {
		mode = engine.PipelineMode
	}
	o, err := c.timeOptions()
	if err != nil {
		return "", err
	}
	if _, _, _, problem := syntax.SplitInsert(strings.TrimSpace(c.Input)); problem != nil {
		return problem.String() + "\n", nil
	}
	p, problems := engine.Compile(strings.TrimSpace(c.Input), w, mode, o)
	if p != nil {
		return "", fmt.Errorf("the statement is valid: %s", p.Explain())
	}
	var b strings.Builder
	writeProblems(&b, problems)
	return b.String(), nil
}

func runParse(sql string) string {
	q, problems := syntax.Parse(sql)
	if len(problems) == 0 {
		return q.String()
	}
	var b strings.Builder
	writeProblems(&b, problems)
	return b.String()
}

// runPlan shows the optimized plan of an entity. expect=Rule,... fails when one of the rules did not fire, and
// expect-not=Rule,... when one did.
func (w *World) runPlan(c Command) (string, error) {
	e, err := w.entity(c.word(0))
	if err != nil {
		return "", err
	}
	if e.program == nil {
		return "", fmt.Errorf("%s is a source: it has no plan", c.word(0))
	}
	fired := w.firedRules(e)
	for _, name := range names(c.Options["expect"]) {
		if fired[name] == 0 {
			return "", fmt.Errorf("rule %s did not fire", name)
		}
	}
	for _, name := range names(c.Options["expect-not"]) {
		if fired[name] > 0 {
			return "", fmt.Errorf("rule %s fired", name)
		}
	}
	switch c.word(1) {
	case "":
		return e.program.Explain(), nil
	case "logical":
		return e.program.Describe(nil).Logical.String(), nil
	case "physical":
		return e.program.Describe(nil).Physical.String(), nil
	}
	return "", fmt.Errorf("plan %s %s: write logical, physical or nothing", c.word(0), c.word(1))
}

// firedRules plans an entity's statement again and counts the rewrites.
func (w *World) firedRules(e *entity) map[string]int {
	q, _ := syntax.Parse(e.program.SQL())
	r, _ := analyze.Analyze(q, w, e.mode, e.options)
	if r.Query == nil {
		return nil
	}
	_, fired := plan.OptimizeTrace(r.Query)
	return fired
}

func names(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

func (w *World) runRows(name string) (string, error) {
	rows, err := w.Rows(name)
	if err != nil {
		return "", err
	}
	e, err := w.entity(name)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "(none)", nil
	}
	var b strings.Builder
	for _, r := range rows {
		if r.Weight != 1 {
			fmt.Fprintf(&b, "+%d ", r.Weight)
		}
		b.WriteString(FormatRow(e.relation.Schema, r) + "\n")
	}
	return b.String(), nil
}

// runMetrics shows the counters that do not depend on how rows are cut into epochs.
func (w *World) runMetrics(name string) (string, error) {
	w.look()
	e, err := w.entity(name)
	if err != nil {
		return "", err
	}
	c := e.flow.Counters()
	in := int64(0)
	for _, n := range c.RowsIn {
		in += n
	}
	s := fmt.Sprintf("in=%d filtered=%d", in, c.Filtered)
	if e.mode == engine.PipelineMode {
		return s + fmt.Sprintf(" late=%d windows=%d out=%d", c.Late, c.WindowsClosed, c.RowsOut), nil
	}
	s += fmt.Sprintf(" ignored=%d", c.Ignored)
	if c.Changes != (op.Changes{}) {
		s += fmt.Sprintf(" upserts=%d deletes=%d unknown=%d", c.Changes.Upserts, c.Changes.Deletes, c.Changes.Unknown)
	}
	return s, nil
}

// changes prints what the last step changed, entity by entity as they were defined.
func (w *World) changes() string {
	var b strings.Builder
	for _, e := range w.entities {
		if e.program != nil {
			w.writeDelta(&b, e)
		}
	}
	if b.Len() == 0 {
		return "(none)\n"
	}
	return b.String()
}

func (w *World) writeDelta(b *strings.Builder, e *entity) {
	rows, _ := w.Delta(e.relation.Name)
	for _, r := range rows {
		sign, n := "+", r.Weight
		if n < 0 {
			sign, n = "-", -n
		}
		if n > 1 {
			sign += strconv.FormatInt(n, 10)
		}
		fmt.Fprintf(b, "%s %s %s\n", e.relation.Name, sign, FormatRow(e.relation.Schema, r))
	}
}

// parseRows reads lines like "trades -2 @1500ms AAPL | 5": the relation, an optional weight ("!" is a retraction
// mark), an optional event time, the values.
func (w *World) parseRows(input string) ([]Event, error) {
	var out []Event
	for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
		if line == "" {
			continue
		}
		name, rest := cut(line)
		e, err := w.entity(name)
		if err != nil {
			return nil, err
		}
		ev := Event{Relation: name, Weight: 1, Ts: w.clock}
		for {
			word, after := cut(rest)
			switch {
			case word == "!":
				ev.Retract = true
			case strings.HasPrefix(word, "@"):
				if ev.Ts, err = parseTime(word[1:]); err != nil {
					return nil, err
				}
			case isWeight(word) && after != "" && !strings.HasPrefix(after, "|"):
				ev.Weight = weightOf(word)
			default:
				word = ""
			}
			if word == "" {
				break
			}
			rest = after
		}
		if ev.Weight < 0 && e.relation.AppendOnly {
			return nil, fmt.Errorf("%q: %s is append-only; declare it as updating", line, name)
		}
		if ev.Values, err = ParseRow(e.relation.Schema, rest); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		out = append(out, ev)
	}
	return out, nil
}

func cut(s string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimSpace(s), " ")
	return word, strings.TrimSpace(rest)
}

// isWeight recognizes +, -, +2 and -3. Signed numbers as first values are written in quotes.
func isWeight(s string) bool {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return false
	}
	for _, c := range s[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func weightOf(s string) int64 {
	n := int64(1)
	if len(s) > 1 {
		n, _ = strconv.ParseInt(s[1:], 10, 64)
	}
	if s[0] == '-' {
		return -n
	}
	return n
}

func parseTime(s string) (int64, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return ms, nil
	}
	d, err := time.ParseDuration(s)
	return d.Milliseconds(), err
}

// ParseRow reads values separated by "|".
func ParseRow(s types.Schema, text string) ([]types.Value, error) {
	parts := splitValues(text)
	if len(parts) != len(s) {
		return nil, fmt.Errorf("%d values for %d columns", len(parts), len(s))
	}
	out := make([]types.Value, len(s))
	for i, p := range parts {
		v, err := parseValue(s[i].Stored(), strings.TrimSpace(p))
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", s[i].Name, err)
		}
		out[i] = v
	}
	return out, nil
}

// splitValues splits at "|" outside of quotes.
func splitValues(text string) []string {
	var out []string
	quoted, from := false, 0
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == '|' && !quoted:
			out = append(out, text[from:i])
			from = i + 1
		}
	}
	return append(out, text[from:])
}

func parseValue(k types.Kind, s string) (types.Value, error) {
	if s == "NULL" {
		return types.Null(k), nil
	}
	if k != types.Json && strings.HasPrefix(s, `"`) {
		u, err := strconv.Unquote(s)
		if err != nil {
			return types.Value{}, err
		}
		s = u
	}
	switch k {
	case types.String:
		return types.StringOf(s), nil
	case types.Json:
		return types.JsonOf(s), nil
	case types.Double:
		f, err := strconv.ParseFloat(s, 64)
		return types.DoubleOf(f), err
	case types.Bool:
		b, err := strconv.ParseBool(s)
		return types.BoolOf(b), err
	case types.Timestamp:
		ms, err := parseTime(s)
		return types.TimestampOf(ms), err
	}
	i, err := parseTime(s)
	return types.LongOf(i), err
}

// FormatRow prints a row's values: bare words, quoted when they could be misread, times as offsets from zero.
func FormatRow(s types.Schema, r Row) string {
	parts := make([]string, len(r.Values))
	for i, v := range r.Values {
		name := ""
		if s != nil {
			name = s[i].Name
		}
		parts[i] = formatValue(name, v)
	}
	return strings.Join(parts, " | ")
}

func formatValue(column string, v types.Value) string {
	switch {
	case v.IsNull():
		return "NULL"
	case v.Kind() == types.Timestamp, v.Kind() == types.Long && (column == plan.WindowStart || column == plan.WindowEnd):
		return plan.FormatMillis(v.Int())
	case v.Kind() != types.String:
		return v.String()
	}
	s := v.Text()
	if s == "" || s == "NULL" || strings.ContainsAny(s, " |\"\\") || strconv.Quote(s) != `"`+s+`"` {
		return strconv.Quote(s)
	}
	return s
}
