// Package access decides who may do what. It knows users and their passwords, tokens, and grants; it knows nothing
// of sources, routes or streams.
//
//	password, token or ingest key ─▶ Principal ─▶ Decide(action, scope, tags) ─▶ Decision
//
// A grant is action × scope × effect. A decision looks at every grant of a principal at once: any matching Deny
// refuses, else any matching unconditional Allow permits, else a matching Allow that requires approval says so, else
// the answer is no. There is no order and no specificity.
//
// The token carries an identity and a role and no permissions: grants are read from the access document on each
// request, through a cache of at most PolicyCache.
package access
