// Package store is the database of the local service: partners and their secrets,
// their agents and the parts of these (JSON records, a [Collection] for each kind),
// threads, messages, feedback, completed sessions, ended tokens, and the text that
// agents answer from.
//
// It is one SQLite file (schema.sql). Every statement that touches a
// thread or a message takes a [Scope], and the scope is part of the SQL: the rule
// "no user reads another user's thread" is enforced here, once.
//
// It is independent of HTTP, sockets, segments and tokens.
package store
