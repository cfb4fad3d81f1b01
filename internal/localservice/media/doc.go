// Package media is the WebRTC end of the local service, on pion: pictures and voice go down to one viewer per stream (WHEP,
// wire-protocol §6), a microphone comes up (wire-protocol §5).
//
// A [Server] owns one UDP socket for all peers. A [Stream] is one goroutine that owns what an avatar shows and says: every 20 ms it
// takes a piece of voice from the utterances that were given to [Stream.Play], every 40 ms it asks a [Picture] for the next frame, and
// while a viewer is connected it sends both, in silence too. A [Voice] is a stream that is only heard. A [Microphone] answers offers and
// hands out what it hears as PCM; its decoder knows all modes of Opus, so how loud the user is can be measured in the sound and no
// header extension (RFC 6464) has to tell.
//
// Clients' ICE candidates are accepted and not used. The server's only candidate is the address of its socket, which every client
// reaches directly or through the relay, and its checks teach us where the client is. So no session description can make the server send
// packets to strangers, or resolve names, or dial TCP.
//
// The package doesn't know who talks to whom or why: no control-plane events, no turns, no agents. It doesn't make pictures, voices or
// words; it carries them.
package media
