// Package api is the HTTP side of the local service: the session API that mints
// tokens, appInit, the converse stream, threads, messages and feedback, and what agents
// are made of, under the
// paths of service.md and wire-protocol §1.5.
//
// It owns what is HTTP: paths, status codes, error bodies, framing, CORS, and the
// bounds of what a client may send. Who may see which thread is decided by the
// store's scope; what a turn is, by the dialogue package. It is
// independent of sockets, media and brains.
package api
