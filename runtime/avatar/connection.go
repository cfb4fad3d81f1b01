package avatar

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// The lengths of the random ids, of the alphabet [a-z0-9]
// (protocol §1.7 and §1.8).
const (
	stickyIDLength = 16
	roomIDLength   = 12
)

// connection is one server-side session: a socket, the room it joined, and its peers.
// A rebuild makes a new one; events of old ones are dropped.
type connection struct {
	socket socketio.Socket
	hs     *handshake
	room   string
	joined bool             // steps 1 to 3 of protocol §2.3 are done
	early  []socketio.Event // events of the service while this was only prepared

	down  Subscriber
	up    Publisher
	voice Voice // audio mode

	approved bool // ApprovedPermissions was sent
	paused   bool // PauseConversation was sent, and no ResumeConversation since
	released bool // the pause expired: the service freed the media

	opened     bool            // the socket was connected once
	downReason socketio.Reason // why the socket is down, "" while it is not
	attempt    int             // the newest attempt to reconnect since the socket was lost

	refusals int            // replies that no avatar is free
	capacity *session.Timer // until the next capacity request

	hello      signaling.Hello
	announced  bool   // streamReady was emitted
	shown      bool   // mediaReady was emitted
	missing    bool   // a rebuild brought no picture
	subscribed string // the URL at which the picture was subscribed last
	onRelease  func() // called when its viewer is released, nil without one
}

// reconnectTimeout bounds one attempt to reconnect: without a network no reply comes, and
// the next attempt may succeed.
const reconnectTimeout = 5 * time.Second

// socketOptions returns how a lost socket is reconnected.
func (s *Session) socketOptions() socketio.ClientOptions {
	return socketio.ClientOptions{
		ReconnectAttempts: s.opts.MaxReconnectAttempts,
		ReconnectTimeout:  reconnectTimeout,
		ReconnectDelay:    s.opts.ReconnectionDelay,
		ReconnectDelayMax: s.opts.ReconnectionDelayMax,
		Random:            s.spread.socket.Next,
	}
}

// open dials the control socket and begins to read it.
func (s *Session) open() (*connection, error) {
	l := &connection{room: session.RandomID(roomIDLength)}
	options := s.socketOptions()
	options.Query, options.Auth = s.query(), auth(s.core.Token)
	socket, err := s.dial(s.opts.ConversationURL, options)
	if err != nil {
		return nil, err
	}
	l.socket = socket
	l.hs = newHandshake(socket)
	s.core.Running.Go(func() { s.read(socket, l.hs) })
	socket.Open()
	return l, nil
}

// read passes the socket's events to the queue, one at a time, so that a service that
// floods is slowed down. A socket may serve two connections, one after the other.
func (s *Session) read(socket socketio.Socket, hs *handshake) {
	for ev := range socket.Events() {
		hs.receive(ev)
		var decided <-chan struct{}
		s.core.Work.Call(func() {
			switch {
			case s.conn != nil && s.conn.socket == socket:
				s.receive(s.conn, ev)
			case s.prepared != nil && s.prepared.socket == socket:
				s.receivePrepared(s.prepared, ev)
			}
			if len(s.actions.waiting) > session.MaxUndelivered {
				decided = s.actions.decided
			}
		})
		if decided != nil {
			<-decided // very many segments wait for a decision of the application
		}
		if s.core.Flooded() {
			s.core.WaitDelivered()
		}
	}
}

func (s *Session) query() map[string]string {
	return map[string]string{
		"partnerId":     s.opts.PartnerID,
		"billed_client": "",
		"stickyId":      s.sticky,
		"level":         "published",
		"debugMode":     "true",
	}
}

func auth(token string) any { return map[string]string{"token": token} }

// close releases everything that l holds; it does not block.
func (l *connection) close() {
	l.capacity.Stop()
	l.closeMedia()
	// Closing waits for the socket's goroutines, and read may be waiting for the
	// queue, on which close runs.
	go l.socket.Close()
}

func (l *connection) closeMedia() {
	if l.down != nil {
		l.down.Close()
		l.down = nil
		if l.onRelease != nil {
			l.onRelease()
			l.onRelease = nil
		}
	}
	if l.up != nil {
		l.up.Close()
		l.up = nil
	}
	if l.voice != nil {
		l.voice.Close()
		l.voice = nil
	}
}

// joinRequest returns the join request for the present state of the session.
func (s *Session) joinRequest(room string) signaling.JoinRequest {
	join := signaling.NewJoin(room, s.userAgent(), signaling.Context{
		KS:           s.core.Token,
		ThreadID:     s.core.Thread,
		EntryID:      s.opts.EntryID,
		ContextID:    s.opts.ContextID,
		ContextType:  s.opts.ContextType,
		Capabilities: s.core.Caps,
		RequestVars:  s.core.Vars,
	})
	trace := s.opts.TraceContext()
	join.Traceparent, join.Tracestate = trace.Traceparent, trace.Tracestate
	return join
}

// nativeAgent is the user agent of a session outside a page.
const nativeAgent = "agentruntime"

func (s *Session) userAgent() string {
	if s.opts.Page == nil {
		return nativeAgent
	}
	return s.opts.Page.UserAgent()
}

// subscribeURL returns the URL of the picture of reply (protocol §6.1).
func (s *Session) subscribeURL(reply signaling.StvNewSessionReply) string {
	if reply.WebRTCURL != "" {
		return reply.WebRTCURL
	}
	base := strings.TrimSuffix(s.opts.SRSBaseURL, "/")
	return base + "/rtc/v1/whep/?app=app&stream=" + url.QueryEscape(reply.SessionID)
}

// audioOnly reports whether the service sends no picture (protocol §4.2).
func audioOnly(reply signaling.StvNewSessionReply) bool {
	return strings.Contains(strings.ToLower(reply.Status), "no stv session")
}

// notify returns the function that passes the events of l's peers to the queue.
func (s *Session) notify(l *connection) func(media.Event) {
	return func(ev media.Event) {
		s.core.Work.Post(func() { s.peerEvent(l, ev) })
	}
}

// newMedia makes the peers of l. The picture's peer starts at once, unless Prepare has
// started it, so that its offer and relay allocation are ready when the handshake needs
// them. The handshake uses the returned peers, because it runs outside the queue and
// closing l clears those of l.
func (s *Session) newMedia(l *connection) peers {
	s.recovery.peers = nil // the health of the earlier peers
	if l.down == nil {
		l.down = s.media.NewSubscriber(s.notify(l))
	}
	l.up = s.media.NewPublisher(s.notify(l))
	return peers{l.down, l.up}
}

type peers struct {
	down Subscriber
	up   Publisher
}

// decode reads the first argument of ev as T. A field that is missing or has another
// type stays zero, so that a field whose type changes does not invalidate the rest of
// the event (protocol §0.3).
func decode[T any](ev socketio.Event) T {
	var v T
	if len(ev.Args) > 0 {
		// encoding/json fills every field that fits before it reports the one
		// that does not.
		_ = ev.Args.Decode(0, &v)
	}
	return v
}

// decodeConfiguration accepts the configuration with or without its envelope
// (protocol §4.2).
func decodeConfiguration(ev socketio.Event) signaling.Configuration {
	wrapped := decode[struct {
		ClientConfiguration json.RawMessage `json:"clientConfiguration"`
	}](ev)
	if len(wrapped.ClientConfiguration) == 0 {
		return decode[signaling.Configuration](ev)
	}
	return decode[signaling.ConfigurationEnvelope](ev).ClientConfiguration
}
