// Package control declares the control plane: the events that a session and the
// service exchange over Socket.IO, their payloads, and the time limits of the
// handshake. It is written so that it can be held next to the wire protocol,
// section by section.
//
// Both ends use it: the sessions of this module and the local service. It knows
// nothing of sockets, peers or session state, and must not import them; names
// and shapes only.
package control
