package streams

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files anew")

// wireText is a message as it is stored: sorted headers and the data.
func wireText(h nats.Header, data []byte) []byte {
	var b bytes.Buffer
	b.WriteString("NATS/1.0\r\n")
	keys := make([]string, 0, len(h))
	for k := range h {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		b.WriteString(k + ": " + h[k][0] + "\r\n")
	}
	b.WriteString("\r\n")
	b.Write(data)
	return b.Bytes()
}

func fromWire(t *testing.T, b []byte) Msg {
	t.Helper()
	head, data, found := bytes.Cut(b, []byte("\r\n\r\n"))
	if !found {
		t.Fatal("the golden file has no header")
	}
	h, err := nats.DecodeHeadersMsg(append(slices.Clone(head), "\r\n\r\n"...))
	if err != nil {
		t.Fatal(err)
	}
	return Msg{Seq: 9, Header: h, Data: data}
}

var goldenParts = map[string]part{
	"delta": {n: 1, of: 1, writer: "JGxWVW8Pn7AcyTKPnKkS2b", base: 40, Entry: Entry{
		Epoch: 4711, Term: 3, Watermark: 1_700_000_000_000, SeqNo: 12, Prev: 4709, Plan: "9f3c2a", Generation: 1, ContentType: "application/x-sf-batch",
		Inputs: []Position{{"trades", "nb5Xk", 815}, {"a b", "q1", 0}}, Data: []byte("columns"),
	}},
	"part":   {n: 2, of: 3, writer: "w", Entry: Entry{Epoch: 1, Term: 1, Data: []byte{0, 1, 2, 255}}},
	"base":   {n: 7, of: 0, writer: "w", base: 100, commit: 104, Entry: Entry{Kind: Base, Epoch: 50, Term: 2, Data: []byte("rows")}},
	"marker": {n: 1, of: 1, writer: "w", Entry: Entry{Kind: Marker, Epoch: 51, Term: 2, Generation: 4}},
}

// Invariant 8: what an older version has written is read.
func TestGoldenEntries(t *testing.T) {
	for name, p := range goldenParts {
		path := filepath.Join("testdata", "entry-"+name+".golden")
		if *update {
			if err := os.WriteFile(path, wireText(p.header(), p.Data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsePart(fromWire(t, golden))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(p.Data) == 0 {
			got.Data = nil
		}
		if !reflect.DeepEqual(got, p) {
			t.Errorf("%s: read %+v, want %+v", name, got, p)
		}
		if now := wireText(p.header(), p.Data); !bytes.Equal(now, golden) {
			t.Errorf("%s: this version writes\n%q\nand the one before wrote\n%q", name, now, golden)
		}
	}
}

func TestEntryHeadersRoundTrip(t *testing.T) {
	token := rapid.StringMatching(`[!-~]{0,20}`)
	rapid.Check(t, func(t *rapid.T) {
		p := part{
			n: rapid.IntRange(1, 1000).Draw(t, "n"), writer: token.Draw(t, "writer"), base: rapid.Uint64().Draw(t, "base"), commit: rapid.Uint64().Draw(t, "commit"),
			Entry: Entry{
				Kind: EntryKind(rapid.IntRange(0, 2).Draw(t, "kind")), Epoch: rapid.Uint64().Draw(t, "epoch"), Term: rapid.Uint64().Draw(t, "term"),
				Generation: rapid.Uint64().Draw(t, "generation"), SeqNo: rapid.Uint64().Draw(t, "seq"), Prev: rapid.Uint64().Draw(t, "prev"),
				Watermark: rapid.Int64().Draw(t, "watermark"), Plan: token.Draw(t, "plan"), ContentType: token.Draw(t, "type"),
				Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"),
			},
		}
		p.of = rapid.IntRange(p.n, 1000).Draw(t, "of")
		if p.Kind == Base && rapid.Bool().Draw(t, "open") {
			p.of = 0
		}
		for range rapid.IntRange(0, 5).Draw(t, "inputs") {
			p.Inputs = append(p.Inputs, Position{rapid.StringN(1, 10, 30).Draw(t, "input"), rapid.StringN(0, 10, 30).Draw(t, "incarnation"), rapid.Uint64().Draw(t, "position")})
		}
		got, err := parsePart(Msg{Header: p.header(), Data: p.Data})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, p) {
			t.Fatalf("read %+v, want %+v", got, p)
		}
	})
}

// Every change of a stored entry, one header or one byte, is found.
func TestAChangedEntryIsFound(t *testing.T) {
	for name, p := range goldenParts {
		h := p.header()
		for k := range h {
			if k == HeaderSum {
				continue
			}
			changed := nats.Header{}
			for key, v := range h {
				changed[key] = slices.Clone(v)
			}
			changed[k][0] += "1"
			if _, err := parsePart(Msg{Header: changed, Data: p.Data}); !errors.Is(err, ErrForeign) {
				t.Errorf("%s: a changed %s: %v, want ErrForeign", name, k, err)
			}
			delete(changed, k)
			if _, err := parsePart(Msg{Header: changed, Data: p.Data}); !errors.Is(err, ErrForeign) {
				t.Errorf("%s: without %s: %v, want ErrForeign", name, k, err)
			}
		}
		for i := range p.Data {
			d := slices.Clone(p.Data)
			d[i] ^= 4
			if _, err := parsePart(Msg{Header: h, Data: d}); !errors.Is(err, ErrForeign) {
				t.Errorf("%s: with a flipped bit: %v, want ErrForeign", name, err)
			}
		}
	}
}

func FuzzParseEntry(f *testing.F) {
	for _, p := range goldenParts {
		h := p.header()
		var lines []string
		for k, v := range h {
			lines = append(lines, k+": "+v[0])
		}
		f.Add(strings.Join(lines, "\n"), p.Data, true)
	}
	f.Add("Sf-Epoch: 1\nSf-Part: 0/0", []byte("x"), true)
	f.Add("Sf-Epoch: 1\nSf-Inputs: #=,#a=1,a=1", []byte(nil), true)
	f.Fuzz(func(t *testing.T, lines string, data []byte, resum bool) {
		h := nats.Header{}
		for line := range strings.SplitSeq(lines, "\n") {
			k, v, _ := strings.Cut(line, ": ")
			h[k] = []string{v}
		}
		if resum { // Else nothing gets past the checksum.
			h[HeaderSum] = []string{sum(h, data)}
		}
		p, err := parsePart(Msg{Header: h, Data: data})
		if err != nil {
			if !errors.Is(err, ErrForeign) {
				t.Fatalf("%v is no ErrForeign", err)
			}
			return
		}
		again, err := parsePart(Msg{Header: p.header(), Data: data})
		if err != nil || again.Epoch != p.Epoch || again.n != p.n || again.of != p.of || again.Kind != p.Kind || len(again.Inputs) != len(p.Inputs) {
			t.Fatalf("what was read, %+v, is written as %+v, %v", p, again, err)
		}
		a := NewAssembler("s")
		for range 2 {
			_, _, _ = a.Add(Msg{Seq: 10, Header: h, Data: data})
		}
	})
}

func FuzzParseInputs(f *testing.F) {
	for _, s := range []string{"", "a#i=1", "a#=0,b=20c#x=5", "=,#", "a#b#c=1", "=23#=1", "a#i=18446744073709551616"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, err := parseInputs(text)
		if err != nil {
			return
		}
		if back, err := parseInputs(formatInputs(in)); err != nil || !slices.Equal(back, in) {
			t.Fatalf("%q is read as %+v, written and read as %+v, %v", text, in, back, err)
		}
	})
}

func FuzzParseAck(f *testing.F) {
	for _, s := range []string{
		"$JS.ACK.SF_default_SRC_a.r-x.1.815.7.1700000000000000000.3",
		"$JS.ACK.dom.hash.SF_default_SRC_a.r-x.1.815.7.1700000000000000000.3.rnd",
		"$JS.ACK.dom.hash.SF_default_SRC_a.r-x.1.815.7.1700000000000000000.3",
		"", "$JS.ACK", "$JS.ACK.......", "a.b.c.d.e.f.g.h.i", "$JS.ACK.s.c.1.2.3.4",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		seq, cseq, stored, err := parseAck(reply)
		if err != nil {
			return
		}
		want := "." + strconv.FormatUint(seq, 10) + "." + strconv.FormatUint(cseq, 10) + "." + strconv.FormatInt(stored, 10) + "."
		if canonical := !strings.Contains(reply, ".0") && !strings.Contains(reply, ".+") && !strings.Contains(reply, ".-"); canonical && !strings.Contains(reply+".", want) {
			t.Fatalf("%q is read as %s", reply, want)
		}
	})
}

func TestParseAckReadsBothForms(t *testing.T) {
	for _, reply := range []string{
		"$JS.ACK.SF_default_SRC_a.r-x.1.815.7.1700000000000000000.3",
		"$JS.ACK.dom.hash.SF_default_SRC_a.r-x.1.815.7.1700000000000000000.3",
		"$JS.ACK.dom.hash.SF_default_SRC_a.r-x.1.815.7.1700000000000000000.3.rnd",
	} {
		if seq, cseq, stored, err := parseAck(reply); err != nil || seq != 815 || cseq != 7 || stored != 1_700_000_000_000_000_000 {
			t.Errorf("%s: %d, %d, %d, %v", reply, seq, cseq, stored, err)
		}
	}
}
