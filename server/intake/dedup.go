package intake

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/kv"
	"github.com/streamsforge/streamsforge/streams"
)

// dedup is the row dedup of one source: a window of the newest keys and what of it is stored. The zero value is for a
// source without dedup: no row is a duplicate. The owner's mutex guards it.
type dedup struct {
	field  string
	size   int
	window *ingest.Window
	saved  int64 // keys below this number are stored
}

func dedupSettings(c connectors.IngestConfig) (field string, size int) {
	if c.DedupKeyField == "" {
		return "", 0
	}
	if c.DedupWindow == 0 {
		return c.DedupKeyField, connectors.DefaultDedupWindow
	}
	return c.DedupKeyField, c.DedupWindow
}

// fresh returns the rows whose key is new, and how many were not. A key that comes twice in a push is new once.
func (d *dedup) fresh(rows []ingest.Row) (out []ingest.Row, duplicates int) {
	if d.window == nil {
		return rows, 0
	}
	seen := map[ingest.Key]bool{}
	out = make([]ingest.Row, 0, len(rows))
	for _, r := range rows {
		if r.HasKey && (seen[r.Key] || d.window.Has(r.Key)) {
			duplicates++
			continue
		}
		if r.HasKey {
			seen[r.Key] = true
		}
		out = append(out, r)
	}
	return out, duplicates
}

// add remembers the keys of admitted rows.
func (d *dedup) add(rows []ingest.Row) {
	if d.window == nil {
		return
	}
	for _, r := range rows {
		if r.HasKey {
			d.window.Add(r.Key)
		}
	}
}

// chunk is a part of a window to be stored. Chunks go round a fixed number of places, so that a window of years
// leaves nothing behind.
type chunk struct {
	key   string
	value []byte
}

// unsaved encodes the chunks that hold unsaved keys, and returns the number up to which they are then stored.
func (d *dedup) unsaved(source string) (chunks []chunk, upTo int64) {
	if d.window == nil {
		return nil, 0
	}
	changed, _ := d.window.Chunks(d.saved)
	for _, c := range changed {
		chunks = append(chunks, chunk{d.place(source, c), d.window.AppendChunk(nil, c)})
	}
	return chunks, d.window.Next()
}

func (d *dedup) place(source string, c int64) string {
	return fmt.Sprintf("%s.%d.%d", streams.Key(source), ingest.Places(d.size), c%ingest.Places(d.size))
}

// loadDedup reads the stored window of a source. When the size of the window has changed, it is stored anew.
func loadDedup(ctx context.Context, b *kv.Bucket[[]byte], source, field string, size int) (dedup, error) {
	if field == "" {
		return dedup{}, nil
	}
	stored, err := b.All(ctx, streams.Key(source)+".>")
	if err != nil {
		return dedup{}, err
	}
	chunks := make([][]byte, len(stored))
	for i, e := range stored {
		chunks[i] = e.Value
	}
	d := dedup{field: field, size: size}
	if d.window, err = ingest.RestoreWindow(size, chunks); err != nil {
		return dedup{}, fmt.Errorf("dedup keys of source %q: %w", source, err)
	}
	d.saved = d.window.Next()
	prefix := streams.Key(source) + "." + strconv.FormatInt(ingest.Places(size), 10) + "."
	moved := false
	for _, e := range stored {
		moved = moved || !strings.HasPrefix(e.Key, prefix)
	}
	if !moved {
		return d, nil
	}
	d.saved = 0
	out, upTo := d.unsaved(source)
	for _, c := range out {
		if _, err := b.Put(ctx, c.key, c.value); err != nil {
			return dedup{}, err
		}
	}
	for _, e := range stored {
		if !strings.HasPrefix(e.Key, prefix) {
			if err := b.Purge(ctx, e.Key); err != nil {
				return dedup{}, err
			}
		}
	}
	d.saved = upTo
	return d, nil
}
