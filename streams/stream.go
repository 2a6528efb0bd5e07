package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Msg is one stored message. Data and Header are read-only and stay valid as long as they are referenced.
type Msg struct {
	Seq     uint64
	TimeMs  int64 // when the server stored it, in ms since 1970
	Subject string
	Header  nats.Header
	Data    []byte
}

// State is what a stream holds now.
type State struct {
	First     uint64 // the first retained sequence; Last+1 when the stream is empty
	Last      uint64 // the last sequence ever stored; it survives purge and expiry
	Messages  uint64
	Bytes     uint64
	FirstTime time.Time
	LastTime  time.Time
}

// Stream is the log of one entity. It is safe for use by several goroutines.
type Stream struct {
	s           *Server
	name        string
	subject     string
	incarnation string
	memory      bool
}

// Name is the name of the JetStream stream.
func (st *Stream) Name() string { return st.name }

// Subject is the subject that [Stream.Publish] uses.
func (st *Stream) Subject() string { return st.subject }

// Incarnation identifies this creation of the stream: a stream that was deleted and made again has another one, and
// positions of the old one mean nothing in it.
func (st *Stream) Incarnation() string { return st.incarnation }

// Memory says whether the rows end with the process.
func (st *Stream) Memory() bool { return st.memory }

// State asks the leader what the stream holds. It is a round trip; a worker at the head knows its position from its
// reader and does not poll this.
func (st *Stream) State(ctx context.Context) (State, error) {
	in, err := st.s.streamInfo(ctx, st.name, "")
	if err != nil {
		return State{}, err
	}
	return stateOf(in), nil
}

func stateOf(in *jetstream.StreamInfo) State {
	s := State{
		First: in.State.FirstSeq, Last: in.State.LastSeq, Messages: in.State.Msgs, Bytes: in.State.Bytes,
		FirstTime: in.State.FirstTime, LastTime: in.State.LastTime,
	}
	if in.State.Msgs == 0 {
		s.First = s.Last + 1
	}
	return s
}

// Get reads one message through the stream's leader, so it sees every acknowledged append. ErrNotFound says that the
// position is empty.
func (st *Stream) Get(ctx context.Context, seq uint64) (Msg, error) {
	return st.s.getMessage(ctx, st.name, fmt.Sprintf(`{"seq":%d}`, seq))
}

// GetLast reads the last message through the leader. ErrNotFound says that the stream holds none.
func (st *Stream) GetLast(ctx context.Context) (Msg, error) {
	for {
		s, err := st.State(ctx)
		if err != nil {
			return Msg{}, err
		}
		if s.Messages == 0 {
			return Msg{}, fmt.Errorf("stream %s: last message: %w", st.name, ErrNotFound)
		}
		m, err := st.Get(ctx, s.Last)
		if !errors.Is(err, ErrNotFound) {
			return m, err
		}
		// The message was trimmed between the two requests; when the stream is not empty, there is a newer one.
		again, err := st.State(ctx)
		if err != nil {
			return Msg{}, err
		}
		if again.Messages == 0 || again.Last == s.Last {
			return Msg{}, fmt.Errorf("stream %s: last message: %w", st.name, ErrNotFound)
		}
	}
}

// SeqAtTime is the position of the first retained message that was stored at or after the time; it is the next
// position to be written when all are older.
func (st *Stream) SeqAtTime(ctx context.Context, t time.Time) (uint64, error) {
	s, err := st.State(ctx)
	if err != nil {
		return 0, err
	}
	lo, hi := s.First, s.Last+1 // The answer is in [lo, hi]: stored times never decrease with the sequence.
	for lo < hi {
		mid := lo + (hi-lo)/2
		m, err := st.s.getMessage(ctx, st.name, fmt.Sprintf(`{"seq":%d,"next_by_subj":">"}`, mid))
		switch {
		case errors.Is(err, ErrNotFound):
			hi = mid
		case err != nil:
			return 0, err
		case m.TimeMs >= t.UnixMilli():
			hi = mid
		default:
			lo = m.Seq + 1
		}
	}
	return lo, nil
}

// Purge removes every message before the sequence. The last sequence is not affected, so fences hold.
func (st *Stream) Purge(ctx context.Context, before uint64) error {
	if before <= 1 {
		return nil
	}
	var resp struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := st.s.request(ctx, "STREAM.PURGE."+st.name, fmt.Sprintf(`{"seq":%d}`, before), &resp); err != nil {
		return fmt.Errorf("purge stream %s before %d: %w", st.name, before, err)
	}
	if resp.Error != nil {
		return fmt.Errorf("purge stream %s before %d: %w", st.name, before, resp.Error)
	}
	return nil
}

// getMessage is STREAM.MSG.GET: unlike a direct get it is answered by the leader alone.
func (s *Server) getMessage(ctx context.Context, stream, req string) (Msg, error) {
	var resp struct {
		Message *struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
		Error *jetstream.APIError `json:"error"`
	}
	if err := s.request(ctx, "STREAM.MSG.GET."+stream, req, &resp); err != nil {
		return Msg{}, fmt.Errorf("stream %s: get %s: %w", stream, req, err)
	}
	if resp.Error != nil {
		return Msg{}, fmt.Errorf("stream %s: get %s: %w", stream, req, apiError(resp.Error))
	}
	if resp.Message == nil {
		return Msg{}, fmt.Errorf("stream %s: get %s: %w", stream, req, ErrNotFound)
	}
	m := Msg{Seq: resp.Message.Seq, TimeMs: resp.Message.Time.UnixMilli(), Subject: resp.Message.Subject, Data: resp.Message.Data}
	if len(resp.Message.Header) > 0 {
		h, err := nats.DecodeHeadersMsg(resp.Message.Header)
		if err != nil {
			return Msg{}, fmt.Errorf("stream %s: headers of message %d: %w", stream, m.Seq, err)
		}
		m.Header = h
	}
	return m, nil
}

func (s *Server) streamInfo(ctx context.Context, stream, filter string) (*jetstream.StreamInfo, error) {
	var resp struct {
		jetstream.StreamInfo
		Error *jetstream.APIError `json:"error"`
	}
	req := ""
	if filter != "" {
		req = fmt.Sprintf(`{"subjects_filter":%q}`, filter)
	}
	if err := s.request(ctx, "STREAM.INFO."+stream, req, &resp); err != nil {
		return nil, fmt.Errorf("stream %s: info: %w", stream, err)
	}
	if resp.Error != nil {
		return nil, fmt.Errorf("stream %s: info: %w", stream, apiError(resp.Error))
	}
	return &resp.StreamInfo, nil
}

// requestAttempts is how often a request is made before the server counts as unable to answer. All of them may be
// repeated without harm: they read, or they say what shall be gone.
const requestAttempts = 6

// request asks the JetStream API on the commit connection, which no bulk transfer shares.
func (s *Server) request(ctx context.Context, api, body string, into any) error {
	for range requestAttempts {
		actx, cancel := context.WithTimeout(ctx, s.opts.AckTimeout)
		m, err := s.commits.RequestWithContext(actx, "$JS.API."+api, []byte(body))
		cancel()
		switch {
		case err == nil:
			return json.Unmarshal(m.Data, into)
		case s.isClosed():
			return ErrClosed
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, context.DeadlineExceeded):
			return err
		}
	}
	return fmt.Errorf("no answer within %v: %w", requestAttempts*s.opts.AckTimeout, nats.ErrTimeout)
}

// apiError adds the meaning for our callers to the answers of the server that have one.
func apiError(e *jetstream.APIError) error {
	if e.ErrorCode == jetstream.JSErrCodeStreamNotFound || e.ErrorCode == jetstream.JSErrCodeMessageNotFound {
		return fmt.Errorf("%w (%s)", ErrNotFound, e.Description)
	}
	return e
}

// errTooManyRequests is an answer of the server that nats.go does not name: the ingest queue of the stream is full.
const errTooManyRequests jetstream.ErrorCode = 10167
