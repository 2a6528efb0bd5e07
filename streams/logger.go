package streams

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// serverLog passes what the NATS server says to slog. It also picks out three things that the server tells nobody in
// another way: why it could not start, and what a client was not allowed to do.
type serverLog struct {
	log       *slog.Logger
	fatal     chan string // buffered for one: the reason of a failed start
	violation func(cid uint64, subject string, publish bool)
	overflow  func(stream string)
}

var _ server.Logger = (*serverLog)(nil)

// Noticef is the server's talk about itself, a dozen lines at each start.
func (l *serverLog) Noticef(format string, v ...any) { l.write(slog.LevelDebug, format, v) }
func (l *serverLog) Debugf(format string, v ...any)  { l.write(slog.LevelDebug, format, v) }
func (l *serverLog) Tracef(format string, v ...any)  { l.write(slog.LevelDebug, format, v) }

func (l *serverLog) Warnf(format string, v ...any) {
	level := slog.LevelWarn
	if stream, ok := parseOverflow(fmt.Sprintf(format, v...)); ok {
		l.overflow(stream)
	} else if strings.HasPrefix(format, "Maximum payloads over") {
		level = slog.LevelDebug // The default is above the server's recommendation on purpose, for the odd large row.
	}
	l.write(level, format, v)
}

func (l *serverLog) Errorf(format string, v ...any) {
	if cid, subject, publish, ok := parseViolation(format, v); ok {
		l.violation(cid, subject, publish)
		l.write(slog.LevelDebug, format, v)
		return
	}
	l.write(slog.LevelError, format, v)
}

// Fatalf must not end the process, which is not ours; Open returns the reason.
func (l *serverLog) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default:
	}
}

func (l *serverLog) write(level slog.Level, format string, v []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, "nats: "+fmt.Sprintf(format, v...))
	}
}

// parseOverflow reads the message of the server's stream.go about a stream whose queue is full.
func parseOverflow(text string) (stream string, ok bool) {
	rest, ok := strings.CutPrefix(text, "Dropping messages due to excessive stream ingest rate on '")
	if !ok {
		return "", false
	}
	_, rest, ok = strings.Cut(rest, "' > '")
	if !ok {
		return "", false
	}
	stream, _, ok = strings.Cut(rest, "'")
	return stream, ok
}

const (
	publishViolation   = "Publish Violation - Subject %q"
	replyViolation     = "Publish Violation - Reply %q"
	subscribeViolation = "Subscription Violation - Subject "
)

// parseViolation reads the three messages of the server's client.go: the connection is in the prefix, and the subject
// is an argument (publish) or quoted in the text (subscription). The client's own name stands between them, so
// nothing else of the line is trusted.
func parseViolation(format string, v []any) (cid uint64, subject string, publish, ok bool) {
	switch {
	case (strings.HasSuffix(format, publishViolation) || strings.HasSuffix(format, replyViolation)) && len(v) > 0:
		switch s := v[0].(type) {
		case []byte:
			subject = string(s)
		case string:
			subject = s
		default:
			return 0, "", false, false
		}
		publish = true
		if strings.HasSuffix(format, replyViolation) {
			subject = strings.TrimPrefix(subject, refusedReply)
		}
	case len(v) == 0 && strings.Contains(format, subscribeViolation):
		quoted, err := strconv.QuotedPrefix(format[strings.LastIndex(format, subscribeViolation)+len(subscribeViolation):])
		if err != nil {
			return 0, "", false, false
		}
		if subject, err = strconv.Unquote(quoted); err != nil {
			return 0, "", false, false
		}
	default:
		return 0, "", false, false
	}
	_, rest, found := strings.Cut(format, "cid:")
	if !found {
		return 0, "", false, false
	}
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	cid, err := strconv.ParseUint(rest[:digits], 10, 64)
	return cid, subject, publish, err == nil
}
