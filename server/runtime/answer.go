package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// Answers is the micro service `streamsforge`: reads of tables and pipelines by request and reply over NATS, with the
// objects that REST gives.
type Answers struct {
	rt      *Runtime
	service micro.Service
	ctx     context.Context //nolint:containedctx // the life of the service; a request has none of its own
	cancel  context.CancelFunc
}

// answerTime bounds the wait of one request.
const answerTime = 10 * time.Second

// Answer starts the service on the server's connection.
func (rt *Runtime) Answer(version string) (*Answers, error) {
	a := &Answers{rt: rt}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	s, err := micro.AddService(rt.opt.Streams.Conn(), micro.Config{
		Name: "streamsforge", Version: semver(version), Description: "Reads of tables and pipelines, as REST answers them.",
	})
	if err != nil {
		a.cancel()
		return nil, fmt.Errorf("offer reads over NATS: %w", err)
	}
	a.service = s
	env := streams.Encode(rt.env.name)
	for _, e := range []struct {
		kind, verb string
		read       func(ctx context.Context, key string, body request) (any, error)
	}{
		{kindTable, "rows", a.rows},
		{kindTable, "metrics", a.tableMetrics},
		{kindTable, "replay", a.tableReplay},
		{kindTable, "search", a.notBuilt},
		{kindTable, "shard", a.notBuilt},
		{kindTable, "history", a.notBuilt},
		{kindPipeline, "results", a.results},
		{kindPipeline, "metrics", a.pipelineMetrics},
		{kindPipeline, "replay", a.pipelineReplay},
	} {
		subject := "sf." + env + "." + e.kind + ".*." + e.verb
		h := micro.HandlerFunc(func(r micro.Request) { go a.answer(r, e.read) })
		if err := s.AddEndpoint(e.kind+"-"+e.verb, h, micro.WithEndpointSubject(subject)); err != nil {
			a.Close()
			return nil, fmt.Errorf("offer reads over NATS: subject %s: %w", subject, err)
		}
	}
	return a, nil
}

// semver is a version that a micro service may have.
func semver(v string) string {
	v = strings.TrimPrefix(v, "v")
	if parts := strings.SplitN(v, ".", 3); len(parts) == 3 {
		if _, err := strconv.Atoi(parts[0]); err == nil {
			return v
		}
	}
	return "0.0.0"
}

// Close ends the service.
func (a *Answers) Close() {
	a.cancel()
	_ = a.service.Stop()
}

// request is the body of any read; absent members take their defaults.
type request struct {
	Limit       *int            `json:"limit"`
	Offset      int             `json:"offset"`
	MinPosition json.RawMessage `json:"minPosition"` // "<input>:<position>" or a list of them
}

func (r request) limit(def int) int {
	if r.Limit == nil {
		return def
	}
	return *r.Limit
}

func (a *Answers) answer(r micro.Request, read func(context.Context, string, request) (any, error)) {
	ctx, cancel := context.WithTimeout(a.ctx, answerTime)
	defer cancel()
	out, err := a.read(ctx, r, read)
	if err == nil {
		if most := a.rt.opt.Streams.MaxPayload(); len(out) > most {
			err = view.Errorf(view.TooLarge, "the answer has %d bytes and a message may have %d: ask for a page with limit and offset", len(out), most)
		}
	}
	if err != nil {
		code, text := status(err)
		// Not r.Error: it notes the error in the request, which the library reads as soon as the handler has returned, and
		// this goroutine answers later.
		_ = r.Respond(nil, micro.WithHeaders(micro.Headers{ // nobody is left to tell when the reply cannot be sent
			micro.ErrorHeader:     []string{text},
			micro.ErrorCodeHeader: []string{strconv.Itoa(code)},
		}))
		return
	}
	_ = r.Respond(out)
}

func (a *Answers) read(ctx context.Context, r micro.Request, read func(context.Context, string, request) (any, error)) ([]byte, error) {
	key, err := streams.Decode(strings.Split(r.Subject(), ".")[3])
	if err != nil {
		return nil, view.Errorf(view.Invalid, "%v", err)
	}
	var body request
	if len(r.Data()) > 0 {
		if err := json.Unmarshal(r.Data(), &body); err != nil {
			return nil, view.Errorf(view.Invalid, "the request is not a JSON object: %v", err)
		}
	}
	out, err := read(ctx, key, body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// status maps a refusal to the status that REST gives it.
func status(err error) (code int, text string) {
	codes := map[view.Code]int{
		view.Invalid: 400, view.Denied: 403, view.Unknown: 404, view.Missing: 404, view.Conflict: 409, view.TooLarge: 413,
		view.Overloaded: 429, view.NotBuilt: 501, view.Unavailable: 503, view.Timeout: 504,
	}
	c := view.CodeOf(err)
	if code, ok := codes[c]; ok {
		return code, err.Error()
	}
	return 500, "the read failed"
}

// tableID finds a table by its name.
func (a *Answers) tableID(name string) (string, error) {
	sn, err := a.rt.opt.Catalog.Snapshot(a.rt.env.name)
	if err != nil {
		return "", err
	}
	t, ok := sn.TableNamed(name)
	if !ok {
		return "", view.ErrUnknown
	}
	return t.ID, nil
}

func (a *Answers) rows(ctx context.Context, name string, r request) (any, error) {
	id, err := a.tableID(name)
	if err != nil {
		return nil, err
	}
	q := view.RowsQuery{Limit: r.limit(100), Offset: r.Offset}
	if q.MinPositions, err = minPositions(r.MinPosition); err != nil {
		return nil, err
	}
	return a.rt.TableRows(ctx, "", id, q)
}

func minPositions(raw json.RawMessage) (map[string]uint64, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		list = []string{""}
		if err := json.Unmarshal(raw, &list[0]); err != nil {
			return nil, view.Errorf(view.Invalid, `minPosition is "<input>:<position>" or a list of them`)
		}
	}
	out := map[string]uint64{}
	for _, s := range list {
		i := strings.LastIndexByte(s, ':')
		seq, err := strconv.ParseUint(s[i+1:], 10, 64)
		if i <= 0 || err != nil {
			return nil, view.Errorf(view.Invalid, "minPosition %q is not <input>:<position>", s)
		}
		out[s[:i]] = seq
	}
	return out, nil
}

func (a *Answers) tableMetrics(_ context.Context, name string, _ request) (any, error) {
	id, err := a.tableID(name)
	if err != nil {
		return nil, err
	}
	return a.rt.TableMetrics("", id)
}

func (a *Answers) tableReplay(ctx context.Context, name string, _ request) (any, error) {
	id, err := a.tableID(name)
	if err != nil {
		return nil, err
	}
	return a.rt.TableReplay(ctx, "", id)
}

func (a *Answers) notBuilt(context.Context, string, request) (any, error) {
	return nil, view.Errorf(view.NotBuilt, "this build does not have it yet")
}

func (a *Answers) results(ctx context.Context, id string, r request) (any, error) {
	return a.rt.PipelineResults(ctx, "", id, max(1, r.limit(100)))
}

func (a *Answers) pipelineMetrics(_ context.Context, id string, _ request) (any, error) {
	return a.rt.PipelineMetrics("", id)
}

func (a *Answers) pipelineReplay(ctx context.Context, id string, _ request) (any, error) {
	return a.rt.PipelineReplay(ctx, "", id)
}
