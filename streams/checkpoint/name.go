package checkpoint

import "github.com/streamsforge/streamsforge/streams"

// A folder is named like everything else that belongs to an entity, so a name is never a path.
func encodeName(entity string) string { return streams.Encode(entity) }

func decodeName(folder string) (string, error) { return streams.Decode(folder) }
