package config_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/server/config"
)

const page = "../../docs/configuration.md"

func TestPageIsGenerated(t *testing.T) {
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != config.Markdown() {
		t.Errorf("%s is out of date: run `go tool task gen`", page)
	}
}

func TestPageHasEveryKey(t *testing.T) {
	text := config.Markdown()
	for _, k := range config.Keys() {
		if strings.Count(text, "| `"+k.Name+"` |") != 1 {
			t.Errorf("%s is not on the page once", k.Name)
		}
	}
	if strings.Contains(text, "%!") {
		t.Error("the page holds a broken format verb")
	}
}

func TestRegistryIsWellFormed(t *testing.T) {
	seen := map[string]string{}
	for _, k := range config.Keys() {
		if !strings.HasSuffix(k.Doc, ".") {
			t.Errorf("%s: the meaning is no full sentence", k.Name)
		}
		for _, n := range append([]string{k.Name}, k.Aliases...) {
			if other, ok := seen[strings.ToLower(n)]; ok {
				t.Errorf("%s names both %s and %s", n, other, k.Name)
			}
			seen[strings.ToLower(n)] = k.Name
		}
		if (k.Type == config.Choice) != (len(k.Choices) > 0) {
			t.Errorf("%s: type %s with choices %q", k.Name, k.Type, k.Choices)
		}
	}
}

// TestEveryFieldHasAKey changes every key and looks for a field that stayed: a field
// without a key cannot be configured.
func TestEveryFieldHasAKey(t *testing.T) {
	before := config.Default()
	var args []string
	for _, k := range config.Keys() {
		if k.Refused {
			continue
		}
		args = append(args, "--"+concrete(k.Name)+"="+sample(k))
	}
	after := load(t, config.Input{Args: args}).Settings
	compare(t, "Settings", reflect.ValueOf(before), reflect.ValueOf(after))
}

func compare(t *testing.T, path string, a, b reflect.Value) {
	if a.Kind() == reflect.Struct {
		for i := range a.NumField() {
			compare(t, path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
		return
	}
	if refused := map[string]bool{"Settings.Nats.URL": true, "Settings.Secrets.Key": true, "Settings.TLS.KeyPassword": true}; refused[path] {
		return
	}
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		t.Errorf("no key sets %s", path)
	}
}

// FuzzFile feeds arbitrary text as the configuration file: it is loaded or refused, and
// what was loaded can be loaded again from its own text.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		`{}`, ``, `[]`, `{"Http":{"Port":5}}`, `{"http:port":"5"}`, `{"Cors":{"AllowedOrigins":["a","b"]}}`,
		`{"Endpoints":{"A_b":"x"}}`, `{"Discovery":{"Peers":[{"Name":"p"}]}}`, `{"Seed":{"Demo":null}}`, `{"DataDir":`, "{\"a\":\x00}",
		`{"Cors":{"AllowedOrigins":{"999999":"x"}}}`, `{"Shards:QuantumSeconds":1e3}`, `{"Http":{"Port":5},"HTTP":{"port":6}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := config.Load(config.Input{ReadFile: files(map[string]string{"streamsforge.json": text})})
		if err != nil {
			return
		}
		var args []string
		for _, v := range l.Effective() {
			if v.Source == config.FromFile {
				args = append(args, "--"+v.Name+"="+v.Text)
			}
		}
		again, err := config.Load(config.Input{Args: args, ReadFile: files(nil)})
		if err != nil {
			t.Fatalf("%q does not load: %v", args, err)
		}
		if !reflect.DeepEqual(l.Settings, again.Settings) {
			t.Errorf("loaded %+v, again %+v", l.Settings, again.Settings)
		}
	})
}
