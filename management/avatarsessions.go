package management

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// AvatarSessions shows a visual of the catalog that says the sound which a server sends, for
// scripted videos (management-api.md, F.5). Create needs an admin token; the other calls use
// the token of the session.
type AvatarSessions struct{ c *Client }

// AvatarSession is a session of a visual. fmt and encoding/json don't show its token.
type AvatarSession struct {
	ID string
	// ExpiresAt is the end of the token's life; zero if the token does not say it.
	ExpiresAt time.Time

	token Token
}

// NewAvatarSession returns a session that another process has created, from its id and its
// token.
func NewAvatarSession(id, token string) AvatarSession {
	session := AvatarSession{ID: id, token: RawToken(token)}
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err == nil && claims.ExpiresAt != nil {
		session.ExpiresAt = claims.ExpiresAt.Time
	}
	return session
}

// Token returns the token of the session, which is secret.
func (a AvatarSession) Token() string { return a.token.KS() }

// String returns the id of the session, without its token.
func (a AvatarSession) String() string { return "avatar session " + a.ID + " " + fault.Redacted }

// Format keeps the token out of logs, whatever the verb is.
func (a AvatarSession) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, a.String()) }

// MarshalJSON keeps the token out of logs.
func (a AvatarSession) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID string `json:"sessionId"`
	}{a.ID})
}

// AvatarMedia is where a viewer gets picture and sound.
type AvatarMedia struct {
	// WHEPURL is the address for a viewer's offer (WHEP).
	WHEPURL string    `json:"whepUrl"`
	TURN    TURNRelay `json:"turn"`
}

// TURNRelay is the relay of a viewer's connection. fmt does not show the credential.
type TURNRelay struct {
	URL        string `json:"url"`
	Username   string `json:"username,omitempty"`
	Credential string `json:"credential,omitempty"`
}

// Format keeps the login out of logs, whatever the verb is.
func (r TURNRelay) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, r.URL+" "+fault.Redacted) }

// Speech is sound for [AvatarSessions.Say].
type Speech struct {
	// Audio is a sound file of MIMEType, whose default is audio/mpeg.
	Audio    []byte
	MIMEType string
	// Duration is its length; required.
	Duration time.Duration
	// TurnID identifies the sound; default a random one.
	TurnID string
}

var avatarSessionCreate = endpoint{at: appinit.Agentic, path: "/avatar-session/create"}

// Create begins a session with a visual of the catalog. Errors: bad_request for an empty id,
// catalog_item_not_found, server_error for a reply without an id or a token.
func (a AvatarSessions) Create(ctx context.Context, visualID string, opts ...Option) (AvatarSession, error) {
	if err := required("the visual id", visualID); err != nil {
		return AvatarSession{}, err
	}
	var reply struct {
		ID    string `json:"sessionId"`
		Token string `json:"token"`
	}
	err := a.c.post(ctx, avatarSessionCreate, map[string]any{"visualConfig": map[string]string{"id": visualID}}, &reply, opts...)
	if err == nil && (reply.ID == "" || reply.Token == "") {
		err = fault.New(fault.ServerError, "the reply has no sessionId or no token").At(avatarSessionCreate.path)
	}
	if err != nil {
		return AvatarSession{}, err
	}
	return NewAvatarSession(reply.ID, reply.Token), nil
}

// Media returns what a viewer of the session needs. Errors: bad_request for a session
// without an id or a token, unauthorized, not_found for one that has ended; so for the
// methods below.
func (a AvatarSessions) Media(ctx context.Context, session AvatarSession) (*AvatarMedia, error) {
	media := new(AvatarMedia)
	if err := a.do(ctx, session, "init-client", media); err != nil {
		return nil, err
	}
	return media, nil
}

// Say queues a sound file behind what the session says, and returns the id of the turn. It is
// sent once, because a repetition might be said twice. Further errors: bad_request for an
// empty file or a length that is not positive.
func (a AvatarSessions) Say(ctx context.Context, session AvatarSession, speech Speech) (string, error) {
	switch {
	case len(speech.Audio) == 0:
		return "", badRequest("Audio must not be empty")
	case speech.Duration <= 0:
		return "", badRequest("Duration must be positive")
	}
	turn := cmp.Or(speech.TurnID, uuid.NewString())
	body, err := formWith(upload{"audio", "audio", cmp.Or(speech.MIMEType, "audio/mpeg"), speech.Audio},
		field{"turnId", turn}, field{"duration", strconv.FormatFloat(speech.Duration.Seconds(), 'f', -1, 64)})
	if err != nil {
		return "", err
	}
	r, err := a.request(session, "say-audio", body)
	if err != nil {
		return "", err
	}
	var reply struct {
		TurnID string `json:"turnId"`
	}
	if err := fetch.Attempt(ctx, fetch.Watch(a.c.fetch, a.c.onResponse), r, &reply); err != nil {
		return "", err
	}
	return cmp.Or(reply.TurnID, turn), nil
}

// Interrupt stops what the session says, and drops what is queued.
func (a AvatarSessions) Interrupt(ctx context.Context, session AvatarSession) error {
	return a.do(ctx, session, "interrupt", nil)
}

// KeepAlive prevents the end of a session in which nothing is said. Call it about every 10 s.
func (a AvatarSessions) KeepAlive(ctx context.Context, session AvatarSession) error {
	return a.do(ctx, session, "keep-alive", nil)
}

// End ends a session.
func (a AvatarSessions) End(ctx context.Context, session AvatarSession) error {
	return a.do(ctx, session, "end", nil)
}

// do makes a call about a session that may be repeated.
func (a AvatarSessions) do(ctx context.Context, session AvatarSession, action string, out any) error {
	body, err := fetch.JSON(struct{}{})
	if err != nil {
		return err
	}
	r, err := a.request(session, action, body)
	if err != nil {
		return err
	}
	r.Repeatable = true
	return a.c.call(ctx, r, out)
}

// request is a request with the token of a session.
func (a AvatarSessions) request(session AvatarSession, action string, body fetch.Body) (*fetch.Request, error) {
	if err := cmp.Or(required("the id of the avatar session", session.ID), required("the token of the avatar session", session.Token())); err != nil {
		return nil, err
	}
	base, err := a.c.addresses.Base(appinit.Agentic)
	if err != nil {
		return nil, err
	}
	return &fetch.Request{
		URL: base + "/avatar-session/" + url.PathEscape(session.ID) + "/" + action, Body: body,
		Header: fetch.Header{"authorization": "Bearer " + session.Token()},
	}, nil
}
