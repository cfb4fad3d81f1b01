package live

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// hostName is the name of this server instance, which is informational
// (protocol §4.2).
const hostName = "localservice"

// Codes of an unsupportedClient event (protocol §4.3).
const (
	codeInternal = "INTERNAL_ERROR"
	codeUsage    = "USAGE_LIMIT_EXCEEDED"
)

// maxRoom bounds a room id, in bytes; clients send 12.
const maxRoom = 128

// join binds the session to its agent and its thread. Without a token nothing
// happens, and a second join is ignored unless the first one failed
// (protocol §2.9, §3.2, choice A9).
func (s *Session) join(r signaling.JoinRequest) {
	if s.joining || s.joined || r.Kaltura.KS == "" {
		return
	}
	if r.Channel == "" || len(r.Channel) > maxRoom {
		s.fatal(signaling.ThrowToBadRequest, signaling.Empty{})
		return
	}
	s.joining = true
	s.room = r.Channel
	if trace := store.TraceLabel(r.Traceparent); trace != "" {
		s.log = s.log.With("traceparent", trace)
	}
	caller, own := s.caller, s.token // a recovery may replace them
	s.spawn(func() {
		who, err := s.admit(r.Kaltura, caller, own)
		s.post(func() { s.admitted(r.Kaltura, who, err) })
	})
}

// admit returns the caller of a join. The token of the join is used, which must be of
// the same partner as the socket's (choice A6), which has these claims.
func (s *Session) admit(c signaling.Context, socketClaims token.Claims, socketToken string) (dialogue.Caller, error) {
	claims := socketClaims
	if c.KS != socketToken {
		var err error
		if claims, err = s.cfg.Tokens.Check(s.ctx, c.KS, s.use); err != nil {
			return dialogue.Caller{}, err
		}
	}
	if claims.PartnerID != socketClaims.PartnerID || !mayTalk(&claims) {
		return dialogue.Caller{}, fmt.Errorf("%w: token of another partner or kind", errRequest)
	}
	if err := dialogue.CheckVars(c.RequestVars); err != nil {
		return dialogue.Caller{}, fmt.Errorf("%w: %w", errRequest, err)
	}
	who, err := s.cfg.Dialogue.Caller(s.ctx, claims)
	who.KS = c.KS
	return who, err
}

// errRequest means that a join is invalid.
var errRequest = errors.New("bad join")

// returned checks the token of a session that was recovered with another one than it
// began with. It must be of the same user, and from then on the session also ends
// when that token is ended.
func (s *Session) returned() {
	text := tokenOf(s.conn.Handshake())
	if text == s.token {
		return
	}
	s.token = text
	before := s.caller
	s.spawn(func() {
		claims, err := s.cfg.Tokens.Check(s.ctx, text, s.use)
		if err == nil && (claims.PartnerID != before.PartnerID || claims.UserID != before.UserID) {
			err = fmt.Errorf("%w: token of another user", errRequest)
		}
		s.post(func() {
			if err != nil {
				s.refuse(err)
				return
			}
			s.caller = claims
			s.spawn(func() {
				// Like that of admitted, for an end that came after the check above.
				if err := s.cfg.Tokens.Valid(s.ctx, claims); err != nil {
					s.post(func() { s.refuse(err) })
				}
			})
		})
	})
}

// mayTalk reports whether a token permits conversations: it must name a brain
// configuration or an agent. Of widget tokens only an enriched one does, which names
// both.
func mayTalk(c *token.Claims) bool {
	switch c.Kind() {
	case token.Conversation, token.Agent:
		return c.ConfigID() != 0 || c.AgentID() != ""
	case token.Widget:
		return c.ConfigID() != 0
	default:
		return false
	}
}

// admitted replies to a join whose token was checked: with the configuration at once,
// then, when the thread is ready, with the first segment and the end of the join
// (protocol §2.5, choice A11).
func (s *Session) admitted(c signaling.Context, who dialogue.Caller, err error) {
	if err != nil {
		s.joining = false
		s.refuse(err)
		return
	}
	s.who, s.profile = who, &who.Agent.Profile
	s.context = signaling.GenieContext{
		Capabilities: c.Capabilities, RequestVars: c.RequestVars, ContextID: c.ContextID, ContextType: c.ContextType,
	}
	s.log = s.log.With("agent", who.Agent.Name, "room", s.room)
	s.emit(signaling.ClientConfig, signaling.ConfigurationEnvelope{ClientConfiguration: s.configuration()})
	place := s.dialogueContext()
	s.spawn(func() {
		var first converse.Segment
		// s.who is set, so TokenEnded finds this session if the token is ended after
		// this check.
		err := s.cfg.Tokens.Valid(s.ctx, who.Claims)
		var thread store.Thread
		if err == nil {
			thread, err = s.cfg.Dialogue.Open(s.ctx, who, c.ThreadID, place)
		}
		if err == nil { // the init_response (choice A12)
			first = converse.Segment{Role: "assistant", Type: converse.InitResponse, Content: "", ThreadID: thread.ID}
			first.OpeningPhrase, first.MessageID, err = s.cfg.Dialogue.Opening(s.ctx, who, thread, place)
		}
		s.post(func() { s.threadReady(thread, first, err) })
	})
}

func (s *Session) threadReady(t store.Thread, first converse.Segment, err error) {
	s.joining = false
	var delta []byte
	if err == nil {
		delta, err = json.Marshal(first)
	}
	if err != nil {
		s.refuse(err)
		return
	}
	s.joined = true
	s.thread, s.openingPhrase = t, first.OpeningPhrase
	s.log = s.log.With("thread", store.ThreadLabel(t.ID))
	s.emit(signaling.AgentRawText, signaling.RawText{Delta: string(delta)})
	s.emit(signaling.JoinComplete, signaling.Empty{})
	s.log.Info("session joined")
	s.roomTimer.stop()
	s.roomTimer = s.after(s.cfg.Timing.UnusedRoom, func() {
		s.log.Info("room unused, closing")
		s.hangUp()
	})
}

// refuse ends a session whose join failed (protocol §4.3, choice A4).
func (s *Session) refuse(err error) {
	switch {
	case s.ctx.Err() != nil:
	case errors.Is(err, token.ErrRestricted):
		s.fatal(signaling.UnsupportedClient, signaling.Unsupported{Code: codeUsage})
	case errors.Is(err, dialogue.ErrBusy), errors.Is(err, dialogue.ErrNotStored):
		s.log.Warn("join refused", "err", err)
		s.fatal(signaling.ThrowToNoAgent, signaling.Empty{})
	case slices.ContainsFunc(requestErrors, func(is error) bool { return errors.Is(err, is) }):
		s.log.Info("join refused", "err", err)
		s.fatal(signaling.ThrowToBadRequest, signaling.Empty{})
	default:
		s.log.Error("join failed", "err", err)
		s.fatal(signaling.UnsupportedClient, signaling.Unsupported{Code: codeInternal})
	}
}

// requestErrors are why a join fails because of what the client sent.
var requestErrors = []error{
	errRequest, token.ErrInvalid, token.ErrExpired, token.ErrEnded, dialogue.ErrNoPermission, dialogue.ErrNoAgent,
}

// configuration describes the agent to the client (protocol §4.2).
func (s *Session) configuration() signaling.Configuration {
	p := s.profile
	c := signaling.Configuration{
		Configuration:            map[string]any{},
		NLUFeatures:              map[string]any{},
		LanguageCode:             p.Language,
		IsTapToTalk:              p.TapToTalk,
		InterruptionsEnabled:     &p.InterruptionsEnabled,
		PauseConversationEnabled: true,
		ShowTranscription:        true,
		IsScreenShareEnabled:     p.ScreenShare,
		IsCameraAnalysisEnabled:  p.CameraAnalysis,
		AudioMode:                p.AudioMode,
		VisualPhotos:             []json.RawMessage{},
		VisualVideos:             []json.RawMessage{},
	}
	if p.DisplayName != "" {
		c.AgentPersonaName = &p.DisplayName
	}
	return c
}

// answerAvailability reports whether a conversation could start now, before and
// after a join (protocol §3.4).
func (s *Session) answerAvailability() {
	by := s.client()
	by.Token = cmp.Or(by.Token, s.caller.Client()) // before the join
	s.emit(signaling.AvailabilityResult, s.hub.availability(by, s.downlink != nil))
}
