package decode

import (
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Policy says what happens to a value that does not fit its declared field (onCoercionFailure).
type Policy uint8

// The policies, in the order of the contract.
const (
	Null        Policy = iota // the field becomes NULL and is counted
	DropRow                   // the row fails
	RejectBatch               // the whole message fails
)

var policyNames = [...]string{"Null", "DropRow", "RejectBatch"}

// String returns the name of the policy as it appears in definitions.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// ParsePolicy finds a policy by its exact name.
func ParsePolicy(s string) (Policy, error) {
	for i, n := range policyNames {
		if n == s {
			return Policy(i), nil
		}
	}
	return Null, fmt.Errorf("unknown onCoercionFailure %q: expected one of %s", s, strings.Join(policyNames[:], ", "))
}

// MarshalText writes the policy's name.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a policy's name.
func (p *Policy) UnmarshalText(b []byte) error {
	v, err := ParsePolicy(string(b))
	if err != nil {
		return err
	}
	*p = v
	return nil
}

// Options change how a Decoder works. The zero value is the default of a source.
type Options struct {
	OnCoercion Policy
	// RejectUnknownFields makes a row with a member that is neither declared nor reserved fail. Otherwise such
	// members are checked as JSON and ignored.
	RejectUnknownFields bool
	// TimestampField is the member that gives a row without an own _ts its event time.
	TimestampField string
	// Keyed marks rows as taken back whose "_op" is the text d or delete in any case, beside those with "_retract": true.
	// It is for sources with a key.
	Keyed bool
	// Block decodes a message of content type application/x-sf-batch into the columns of want; nil: there are no
	// such messages. It is a function because the format lives outside of the engine.
	Block func(payload []byte, want types.Schema) (*zset.Batch, error)
}

// Message is one message of a source stream.
type Message struct {
	Payload []byte
	// ContentType is application/json, application/x-ndjson, application/x-sf-batch, or anything else: then the
	// payload's shape decides.
	ContentType string
	TimeMs      int64 // the stored time, the event time of rows that have none
}

// The stages at which a row can fail.
const (
	StageDecode = "decode" // it is not what the format says, or has a member that RejectUnknownFields refuses
	StageCoerce = "coerce" // it does not fit the declared fields
)

// Failure is a row, or a whole message, that was not taken.
type Failure struct {
	Index  int    // of the row in the message, from 0; of the row that failed when Whole
	Stage  string // StageDecode or StageCoerce
	Reason string
	// Payload is the original text: of the row when it can be told apart, else of the message. It shares the
	// message's memory.
	Payload []byte
	Whole   bool // no row of the message was taken
}

// Result says what became of a message.
type Result struct {
	Rows     int // added to the open batch
	Coerced  int // fields that the policy Null made NULL
	Failures []Failure
}

// Schema returns the layout of a source's batches: the declared fields (arrays as Json), then _ts (Long) and
// _retract (Bool) unless they are declared.
func Schema(fields types.Schema) types.Schema {
	out := fields.Clone()
	for i := range out {
		out[i].Kind, out[i].IsArray = out[i].Stored(), false
	}
	if indexOf(fields, types.TsColumn) < 0 {
		out = append(out, types.Field{Name: types.TsColumn, Kind: types.Long})
	}
	if indexOf(fields, types.RetractColumn) < 0 {
		out = append(out, types.Field{Name: types.RetractColumn, Kind: types.Bool})
	}
	return out
}

// indexOf finds a field by its exact name: members of JSON objects are case-sensitive.
func indexOf(fields types.Schema, name string) int {
	for i := range fields {
		if fields[i].Name == name {
			return i
		}
	}
	return -1
}
