// Package api is the HTTP side of the local service: the session API that mints
// tokens, appInit, the converse stream, threads, messages, feedback, and the
// management calls for agents and their parts, under the paths of service.md and
// protocol §1.5.
//
// It is responsible for paths, status codes, error bodies, framing, CORS, and the
// limits on what a client may send. The store's scope decides who may see which
// thread; the dialogue package runs the turns. Live sessions, with their sockets and
// media, are reached through [Live] only.
package api
