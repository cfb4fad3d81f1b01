// Package store keeps what the local service has to remember: partners and
// their secrets, agents, threads, messages, feedback, completed sessions, ended
// tokens, and the text that agents answer from.
//
// It is one SQLite file with numbered migrations. Every statement that touches a
// thread or a message takes a [Scope], and the scope is part of the SQL: the rule
// "nobody reads another user's thread" lives here, once.
//
// It must not know of HTTP, sockets, segments or tokens.
package store
