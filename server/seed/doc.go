// Package seed is the demo world: the users, sources, pipelines and tables that an empty
// server starts with, so that something moves before anybody has defined anything.
//
// The world is data (users.go, sources.go, queries.go). Plant creates it through the
// catalog like any client, in order: sources, then pipelines, then tables, since queries
// are compiled against what is there. A query that this build's SQL cannot compile is left
// out as a whole, with what reads it, and reported: a demo must not look broken. As soon
// as the engine learns its words the same entry is planted; nothing here changes.
//
// A test lists which entries are planted today.
package seed
