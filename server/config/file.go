package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// readFile takes settings from the JSON file: nested sections, lists as arrays, or names
// with colons. It returns the path that was read, empty when there is no file.
func readFile(in Input, named string) (settings []raw, path string, problems []*Problem) {
	path = named
	if path == "" {
		path = filepath.Join(in.Dir, FileName)
	}
	content, err := in.ReadFile(path)
	if err != nil {
		if named == "" && errors.Is(err, fs.ErrNotExist) {
			return nil, "", nil
		}
		return nil, "", []*Problem{{Key: path, Origin: "--config", Message: "cannot be read: " + err.Error()}}
	}
	f := &file{path: path, content: content, d: jsontext.NewDecoder(bytes.NewReader(content))}
	if err := f.document(); err != nil {
		return nil, path, []*Problem{{Key: path, Message: err.Error()}}
	}
	return f.settings, path, nil
}

type file struct {
	path     string
	content  []byte
	d        *jsontext.Decoder
	settings []raw
}

func (f *file) document() error {
	if len(bytes.TrimSpace(f.content)) == 0 {
		return nil
	}
	if f.d.PeekKind() != '{' {
		if err := f.value(""); err != nil {
			return err
		}
		return errors.New("is not a JSON object")
	}
	if err := f.value(""); err != nil {
		return err
	}
	if _, err := f.d.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("has text after its JSON object, in line %d", f.line())
	}
	return nil
}

// value walks one JSON value and enters each scalar under its name.
func (f *file) value(name string) error {
	tok, err := f.d.ReadToken()
	if err != nil {
		return f.syntax(err)
	}
	switch tok.Kind() {
	case '{':
		for f.d.PeekKind() != '}' {
			key, err := f.d.ReadToken()
			if err != nil {
				return f.syntax(err)
			}
			if err := f.value(join(name, key.String())); err != nil {
				return err
			}
		}
	case '[':
		for i := 0; f.d.PeekKind() != ']'; i++ {
			if err := f.value(join(name, strconv.Itoa(i))); err != nil {
				return err
			}
		}
	case 'n':
		return nil // null is "not set"
	default:
		f.settings = append(f.settings, raw{name: name, text: tok.String(), source: FromFile, origin: fmt.Sprintf("file %s:%d", f.path, f.line())})
		return nil
	}
	if _, err := f.d.ReadToken(); err != nil {
		return f.syntax(err)
	}
	return nil
}

// line is the line of the token that was just read.
func (f *file) line() int {
	return 1 + bytes.Count(f.content[:f.d.InputOffset()], []byte("\n"))
}

func (f *file) syntax(err error) error {
	at := f.d.InputOffset()
	var s *jsontext.SyntacticError
	if errors.As(err, &s) {
		at = s.ByteOffset
		err = s.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	at = min(at, int64(len(f.content)))
	before := f.content[:at]
	column := int(at) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("is not valid JSON in line %d, column %d: %w", 1+bytes.Count(before, []byte("\n")), column, err)
}

func join(section, key string) string {
	return strings.TrimPrefix(section+":"+key, ":")
}
