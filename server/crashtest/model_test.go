package crashtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// transfer is one row of the source: an amount moves between two accounts. Publisher and index number the rows
// of each publisher.
type transfer struct {
	ID     int64  `json:"id"`
	Src    string `json:"src"`
	Dst    string `json:"dst"`
	Amount int64  `json:"amount"`
	P      int64  `json:"p"`
	I      int64  `json:"i"`
	Ts     int64  `json:"_ts"`
}

const accounts = 10

func account(i int) string { return "a" + strconv.Itoa(i%accounts) }

// model is the expected state: a plain fold over the raw log, written without any code of the engine.
type model struct {
	next    uint64 // first log sequence that is not folded yet
	seen    map[int64]bool
	credits map[string]int64
	debits  map[string]int64
	pubs    map[int64]*pubStat
	large   map[string]int64 // "id|amount" -> weight
	windows map[winKey]*winStat
	maxTs   int64
	late    int64
}

type pubStat struct {
	n, sum, lo, hi int64
	last           transfer
}

type winKey struct{ start, p int64 }

type winStat struct{ n, sum int64 }

func newModel() *model {
	return &model{
		next: 1, seen: map[int64]bool{}, credits: map[string]int64{}, debits: map[string]int64{},
		pubs: map[int64]*pubStat{}, large: map[string]int64{}, windows: map[winKey]*winStat{},
	}
}

// rowsOf reads a source message: an array, one object or NDJSON.
func rowsOf(payload []byte) ([]transfer, error) {
	var rows []transfer
	if len(payload) > 0 && payload[0] == '[' {
		err := json.Unmarshal(payload, &rows)
		return rows, err
	}
	for line := range slices.Values(splitLines(payload)) {
		var r transfer
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func splitLines(b []byte) [][]byte {
	var out [][]byte
	start := 0
	for i := 0; i <= len(b); i++ {
		if i == len(b) || b[i] == '\n' {
			if i > start {
				out = append(out, b[start:i])
			}
			start = i + 1
		}
	}
	return out
}

const (
	windowMs   = 1000
	latenessMs = 1000
	largeFrom  = 990
	sourceName = "xfer"
)

func (m *model) fold(seq uint64, payload []byte) error {
	if seq != m.next {
		return fmt.Errorf("the log jumps from %d to %d", m.next-1, seq)
	}
	m.next++
	rows, err := rowsOf(payload)
	if err != nil {
		return fmt.Errorf("message %d: %w", seq, err)
	}
	for _, r := range rows {
		if m.seen[r.ID] {
			return fmt.Errorf("row %d stands twice in the log (again at %d)", r.ID, seq)
		}
		m.seen[r.ID] = true
		m.credits[r.Dst] += r.Amount
		m.debits[r.Src] += r.Amount
		s := m.pubs[r.P]
		if s == nil {
			s = &pubStat{lo: r.I, hi: r.I}
			m.pubs[r.P] = s
		}
		s.n++
		s.sum += r.I
		s.lo, s.hi = min(s.lo, r.I), max(s.hi, r.I)
		if s.n == 1 || r.Ts >= s.last.Ts {
			s.last = r
		}
		if r.Amount > largeFrom {
			m.large[fmt.Sprintf("%d|%d", r.ID, r.Amount)]++
		}
		late := r.Ts < m.maxTs-latenessMs
		m.maxTs = max(m.maxTs, r.Ts)
		if late {
			m.late++
			continue
		}
		k := winKey{r.Ts / windowMs * windowMs, r.P}
		w := m.windows[k]
		if w == nil {
			w = &winStat{}
			m.windows[k] = w
		}
		w.n++
		w.sum += r.Amount
	}
	return nil
}

// tables maps each table to its query; the order is the order of creation.
var tables = []struct{ name, sql string }{
	{"credits", "SELECT dst AS account, SUM(amount) AS total FROM xfer GROUP BY dst"},
	{"debits", "SELECT src AS account, SUM(amount) AS total FROM xfer GROUP BY src"},
	{"balance", "SELECT c.account AS account, c.total - d.total AS amount FROM credits c JOIN debits d ON c.account = d.account"},
	{"total", "SELECT SUM(amount) AS amount, COUNT(*) AS n FROM balance"},
	{"publishers", "SELECT p, COUNT(*) AS n, SUM(i) AS s, MIN(i) AS lo, MAX(i) AS hi FROM xfer GROUP BY p"},
	{"latest", "SELECT p, i, id FROM xfer LATEST BY (p)"},
	{"large", "SELECT id, amount FROM xfer WHERE amount > 990"},
}

const windowSQL = "SELECT p, COUNT(*) AS n, SUM(amount) AS s FROM xfer GROUP BY p WINDOW TUMBLING(SIZE 1 SECONDS)"

// expect returns the rows a table must serve, each printed as its cells in column order, sorted.
func (m *model) expect(table string) []string {
	var out []string
	switch table {
	case "credits":
		for a, v := range m.credits {
			out = append(out, fmt.Sprintf("%s|%d", a, v))
		}
	case "debits":
		for a, v := range m.debits {
			out = append(out, fmt.Sprintf("%s|%d", a, v))
		}
	case "balance":
		for a, v := range m.credits {
			if d, ok := m.debits[a]; ok {
				out = append(out, fmt.Sprintf("%s|%d", a, v-d))
			}
		}
	case "total":
		var sum, n int64
		for a, v := range m.credits {
			if d, ok := m.debits[a]; ok {
				sum += v - d
				n++
			}
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%d|%d", sum, n))
		}
	case "publishers":
		for p, s := range m.pubs {
			out = append(out, fmt.Sprintf("%d|%d|%d|%d|%d", p, s.n, s.sum, s.lo, s.hi))
		}
	case "latest":
		for p, s := range m.pubs {
			out = append(out, fmt.Sprintf("%d|%d|%d", p, s.last.I, s.last.ID))
		}
	case "large":
		for k := range maps.Keys(m.large) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// columns of each table in order, for printing served rows like expect does.
var columns = map[string][]string{
	"credits": {"account", "total"}, "debits": {"account", "total"}, "balance": {"account", "amount"},
	"total": {"amount", "n"}, "publishers": {"p", "n", "s", "lo", "hi"}, "latest": {"p", "i", "id"}, "large": {"id", "amount"},
}
