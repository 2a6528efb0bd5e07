// Package httpapi is the REST surface: one table of routes that drives registration, permission checks, the
// OpenAPI document and the reference page, and one file of handlers a resource.
//
//	request ─▶ limits, CORS, recover ─▶ authenticate ─▶ environment ─▶ role floor + grant ─▶ handler ─▶ view.* as JSON
//
// The package declares the interfaces of what it needs from the runtime and the intake; the composition root
// supplies them.
package httpapi
