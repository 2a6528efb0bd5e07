// Package standard registers the source and sink kinds of this build. Import it for its effect alone; adding a kind to
// the product is one line here.
package standard

import (
	_ "github.com/streamsforge/streamsforge/connectors/generator" // generator
	_ "github.com/streamsforge/streamsforge/connectors/ingest"    // ingest
)
