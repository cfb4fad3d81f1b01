// Package signaling declares the control plane: the events that a session and the
// service exchange over Socket.IO, their payloads, and the time limits of the
// handshake. It follows the order of the wire protocol, section by section.
//
// Both ends use it: the sessions of this module and the local service. It declares
// names and shapes only, and must not import sockets, peers or session state.
package signaling
