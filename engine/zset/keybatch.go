package zset

// KeyBatch is a list of keys in one buffer, with their hashes: the form in which a batch of rows meets a table.
// Work on a batch runs in passes (encode all, hash all, touch, probe), which overlaps the cache misses of a large
// table. A KeyBatch is reused with Reset.
type KeyBatch struct {
	Bytes []byte
	Ends  []uint32 // Ends[i] is the end of key i; it begins where the one before ends
	Hash  []uint64 // filled by HashAll
}

// Reset empties the list and keeps the memory.
func (k *KeyBatch) Reset() { k.Bytes, k.Ends, k.Hash = k.Bytes[:0], k.Ends[:0], k.Hash[:0] }

// Len returns the number of keys.
func (k *KeyBatch) Len() int { return len(k.Ends) }

// Key returns key i. The caller must not change it.
func (k *KeyBatch) Key(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = k.Ends[i-1]
	}
	return k.Bytes[from:k.Ends[i]:k.Ends[i]]
}

// Append adds one key.
func (k *KeyBatch) Append(key []byte) {
	k.Bytes = append(k.Bytes, key...)
	k.Ends = append(k.Ends, uint32(len(k.Bytes)))
}

// Mark ends a key whose bytes were appended to Bytes directly.
func (k *KeyBatch) Mark() { k.Ends = append(k.Ends, uint32(len(k.Bytes))) }

// Encode adds the canonical records of the chosen columns (nil: all) of the chosen rows (nil: all).
func (k *KeyBatch) Encode(b *Batch, cols []int, sel []int32) {
	if sel == nil {
		for i := range b.N {
			k.Bytes = AppendRecord(k.Bytes, b, i, cols)
			k.Mark()
		}
		return
	}
	for _, i := range sel {
		k.Bytes = AppendRecord(k.Bytes, b, int(i), cols)
		k.Mark()
	}
}

// HashAll computes the hashes of the keys that have none yet.
func (k *KeyBatch) HashAll() {
	for i := len(k.Hash); i < len(k.Ends); i++ {
		k.Hash = append(k.Hash, Hash(k.Key(i)))
	}
}
