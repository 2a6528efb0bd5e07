package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// Meta is what a checkpoint reflects. It is stored as JSON, and the owner may add fields of its own in Extra.
type Meta struct {
	Epoch      uint64 `json:"epoch"`
	TimeMs     int64  `json:"timeMs"` // of the epoch
	Term       uint64 `json:"term,omitempty"`
	Generation uint64 `json:"generation,omitempty"`
	// Plan is the fingerprint of the query whose flow the state is of.
	Plan string `json:"plan,omitempty"`
	// Inputs are the positions reflected, by <input>#<incarnation>.
	Inputs map[string]uint64 `json:"inputs,omitempty"`
	// Journal is the last sequence of the entity's own journal that the state reflects, and its incarnation.
	Journal            uint64          `json:"journal,omitempty"`
	JournalIncarnation string          `json:"journalIncarnation,omitempty"`
	SavedMs            int64           `json:"savedMs,omitempty"` // wall clock, for people
	Extra              json.RawMessage `json:"extra,omitempty"`
}

// The file is: magic, version, length of the description, the description, length of the state, the state, SHA-256 of
// everything before. Numbers are little endian.
const (
	magic     = "SFCK"
	version   = 1
	fixedHead = len(magic) + 2 + 4
)

// maxMeta bounds the description, so that a damaged length does not ask for all memory.
const maxMeta = 64 << 20

// description is the JSON of a file.
type description struct {
	Entity string `json:"entity"`
	Meta
}

// encode makes what stands before and behind the state.
func encode(entity string, m Meta, state []byte) (head, sum []byte, err error) {
	d, err := json.Marshal(description{entity, m})
	if err != nil {
		return nil, nil, fmt.Errorf("describe: %w", err)
	}
	if len(d) > maxMeta {
		return nil, nil, fmt.Errorf("a description of %d bytes is too long", len(d))
	}
	head = append(head, magic...)
	head = binary.LittleEndian.AppendUint16(head, version)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(d)))
	head = append(head, d...)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(state)))
	h := sha256.New()
	h.Write(head)
	h.Write(state)
	return head, h.Sum(nil), nil
}

var (
	errTorn    = errors.New("it ends too early")
	errChanged = errors.New("its checksum does not fit: the content was changed")
)

// decode is the inverse of encode. The state is a part of b.
func decode(b []byte) (entity string, m Meta, state []byte, err error) {
	if len(b) < fixedHead {
		return "", Meta{}, nil, errTorn
	}
	if !bytes.HasPrefix(b, []byte(magic)) {
		return "", Meta{}, nil, errors.New("it is not a checkpoint")
	}
	if v := binary.LittleEndian.Uint16(b[len(magic):]); v != version {
		return "", Meta{}, nil, fmt.Errorf("its format is version %d, this program reads version %d", v, version)
	}
	n := int(binary.LittleEndian.Uint32(b[len(magic)+2:]))
	rest := b[fixedHead:]
	if n > maxMeta || len(rest) < n+8 {
		return "", Meta{}, nil, errTorn
	}
	desc, rest := rest[:n], rest[n:]
	size := binary.LittleEndian.Uint64(rest)
	rest = rest[8:]
	switch want := size + sha256.Size; {
	case size > uint64(len(b)) || uint64(len(rest)) < want:
		return "", Meta{}, nil, errTorn
	case uint64(len(rest)) > want:
		return "", Meta{}, nil, fmt.Errorf("it has %d bytes too many", uint64(len(rest))-want)
	}
	state = rest[:size:size]
	if sum := sha256.Sum256(b[:len(b)-sha256.Size]); !bytes.Equal(sum[:], b[len(b)-sha256.Size:]) {
		return "", Meta{}, nil, errChanged
	}
	var d description
	if err := json.Unmarshal(desc, &d); err != nil {
		return "", Meta{}, nil, fmt.Errorf("its description: %w", err)
	}
	return d.Entity, d.Meta, state, nil
}
