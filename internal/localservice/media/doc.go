// Package media is the WebRTC end of the local service, on pion: it sends pictures and voices to one viewer per stream (WHEP,
// protocol §6), and receives microphones (protocol §5).
//
// A [Server] owns one UDP socket for all peers. A [Stream] is one goroutine that owns what an avatar shows and says: every 20 ms it
// takes a piece of voice from the utterances that were given to [Stream.Play], every 40 ms it asks a [Picture] for the next frame, and
// while a viewer is connected it sends both, in silence too. A [Voice] is a stream without a picture. A [Microphone] answers offers and
// decodes the incoming track to PCM; its decoder has all modes of Opus, so the level is measured in the sound and needs no header
// extension (RFC 6464).
//
// Clients' ICE candidates are not used. The server's only candidate is the address of its socket, which every client
// reaches directly or through the relay; the client's connectivity checks reveal its address. So no session description can make the
// server send packets to third parties, resolve names, or dial TCP.
//
// The package is independent of control-plane events, turns and agents. It carries pictures and voices and does not make them.
package media
