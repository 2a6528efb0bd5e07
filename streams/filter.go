package streams

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
)

// filter reads the client side of the NATS protocol and writes it again. Nothing passes that it has not understood, and
// every line is written in one canonical form, so the server reads exactly what was checked.
type filter struct {
	r     *bufio.Reader
	w     *bufio.Writer
	limit int
	inbox string // prefix of the replies that are allowed
	line  []byte

	refused atomic.Bool // hello said no, and the client is told so
	// hello checks the first message and gives the one that the server gets instead.
	hello func(connect []byte) (rewritten []byte, inbox string, err error)
}

// maxControlLine is the server's own limit, with room for what the gate adds.
const maxControlLine = 4096

// filterBuffer makes one write of many small messages. It must exceed maxControlLine.
const filterBuffer = 64 << 10

// refusedReply makes the server refuse a message and tell the client: it is its own prefix for replies of services,
// which no client may use.
const refusedReply = "_R_."

func newFilter(client io.Reader, server io.Writer, limit int) *filter {
	return &filter{r: bufio.NewReaderSize(client, filterBuffer), w: bufio.NewWriterSize(server, filterBuffer), limit: limit}
}

var (
	errProtocol = errors.New("not the NATS client protocol")
	crlf        = []byte("\r\n")
)

// run passes messages until the client ends or breaks the protocol.
func (f *filter) run() error {
	for first := true; ; first = false {
		line, err := f.read()
		if err != nil {
			return err
		}
		if first {
			err = f.connect(line)
		} else {
			err = f.pass(line)
		}
		if err != nil {
			return errors.Join(err, f.w.Flush())
		}
		if f.r.Buffered() == 0 {
			if err := f.w.Flush(); err != nil {
				return err
			}
		}
	}
}

// read returns a line without its end. It is valid until the next read.
func (f *filter) read() ([]byte, error) {
	line, err := f.r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	line = bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'})
	if len(line) > maxControlLine {
		return nil, fmt.Errorf("%w: a line of %d bytes", errProtocol, len(line))
	}
	return line, nil
}

func (f *filter) connect(line []byte) error {
	verb, rest, _ := bytes.Cut(line, []byte{' '})
	if !bytes.EqualFold(verb, []byte("CONNECT")) {
		return fmt.Errorf("%w: the first message is not CONNECT", errProtocol)
	}
	c, inbox, err := f.hello(rest)
	if err != nil {
		return err
	}
	f.inbox = inbox
	return f.write([]byte("CONNECT"), c)
}

func (f *filter) pass(line []byte) error {
	var fields [5][]byte
	n := words(line, &fields)
	if n == 0 || n > 5 {
		return fmt.Errorf("%w: %.40q", errProtocol, line)
	}
	verb := fields[0]
	switch {
	case bytes.EqualFold(verb, []byte("PUB")) && (n == 3 || n == 4):
		return f.publish([]byte("PUB"), fields[1:n], 1)
	case bytes.EqualFold(verb, []byte("HPUB")) && (n == 4 || n == 5):
		return f.publish([]byte("HPUB"), fields[1:n], 2)
	case bytes.EqualFold(verb, []byte("SUB")) && (n == 3 || n == 4):
		return f.write([]byte("SUB"), fields[1:n]...)
	case bytes.EqualFold(verb, []byte("UNSUB")) && (n == 2 || n == 3):
		return f.write([]byte("UNSUB"), fields[1:n]...)
	case bytes.EqualFold(verb, []byte("PING")) && n == 1:
		return f.write([]byte("PING"))
	case bytes.EqualFold(verb, []byte("PONG")) && n == 1:
		return f.write([]byte("PONG"))
	}
	return fmt.Errorf("%w: %.40q", errProtocol, line)
}

// publish passes a message: subject, perhaps a reply, and one or two sizes of which the last is that of everything.
func (f *filter) publish(verb []byte, args [][]byte, sizes int) error {
	for _, s := range args[len(args)-sizes:] {
		if !isSize(s) {
			return fmt.Errorf("%w: %.40q is not a size", errProtocol, s)
		}
	}
	size, err := strconv.Atoi(string(args[len(args)-1]))
	if err != nil {
		return fmt.Errorf("%w: %w", errProtocol, err)
	}
	if reply := args[1]; len(args) > sizes+1 && !bytes.HasPrefix(reply, []byte(f.inbox)) {
		args[1] = append([]byte(refusedReply), reply...)
	}
	if err := f.write(verb, args...); err != nil {
		return err
	}
	if size > f.limit {
		// The server says so and ends the connection; the payload is of no use to it.
		if err := f.w.Flush(); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, f.r)
		return errors.Join(fmt.Errorf("%w: a payload of %d bytes", errProtocol, size), err)
	}
	for size > 0 {
		if f.r.Buffered() == 0 {
			if _, err := f.r.Peek(1); err != nil {
				return err
			}
		}
		b, err := f.r.Peek(min(size, f.r.Buffered()))
		if err != nil {
			return err
		}
		if _, err := f.w.Write(b); err != nil {
			return err
		}
		if _, err := f.r.Discard(len(b)); err != nil {
			return err
		}
		size -= len(b)
	}
	end, err := f.r.Peek(2)
	if err != nil {
		return err
	}
	if !bytes.Equal(end, crlf) {
		return fmt.Errorf("%w: a payload is longer than its size", errProtocol)
	}
	if _, err := f.r.Discard(2); err != nil {
		return err
	}
	_, err = f.w.Write(crlf)
	return err
}

// write puts a line together: the words with one space between them.
func (f *filter) write(verb []byte, words ...[]byte) error {
	f.line = append(f.line[:0], verb...)
	for _, w := range words {
		f.line = append(f.line, ' ')
		f.line = append(f.line, w...)
	}
	f.line = append(f.line, crlf...)
	_, err := f.w.Write(f.line)
	return err
}

// isSize accepts up to nine digits, so that a size is never negative, signed or too large for the server's parser.
func isSize(b []byte) bool {
	if len(b) == 0 || len(b) > 9 {
		return false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// words splits a line at spaces and tabs. It returns how many words there are; more than fit are counted as one more.
func words(line []byte, into *[5][]byte) int {
	n := 0
	for i := 0; i < len(line); {
		if line[i] == ' ' || line[i] == '\t' {
			i++
			continue
		}
		from := i
		for i < len(line) && line[i] != ' ' && line[i] != '\t' {
			i++
		}
		if n == len(into) {
			return n + 1
		}
		into[n] = line[from:i]
		n++
	}
	return n
}
