//go:build !js

package management_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"mime/multipart"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// avatarToken is a token of a session that ends at a time.
func avatarToken(ends time.Time) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"HS256"}`) + "." + part(fmt.Sprintf(`{"sub":"s-1","exp":%d}`, ends.Unix())) + "." + part("signature")
}

// TestAvatarSessionCalls: the session is created with the admin token, and the other calls
// are made with the token of the session.
func TestAvatarSessionCalls(t *testing.T) {
	ends := time.Now().Add(time.Hour).Truncate(time.Second)
	token := avatarToken(ends)
	f := newFake(t, map[string][]answer{
		"/avatar-session/create":          {{0, `{"sessionId":"s-1","token":"` + token + `"}`}},
		"/avatar-session/s-1/init-client": {{0, `{"whepUrl":"https://media.example/whep","turn":{"url":"turn:x","username":"u","credential":"the-relay-credential"}}`}},
		"/avatar-session/s-1/say-audio":   {{0, `{"turnId":"t-1","success":true}`}},
		"/avatar-session/s-1/interrupt":   {{0, `{"success":true}`}},
		"/avatar-session/s-1/keep-alive":  {{503, ``}, {0, `{"success":true}`}},
		"/avatar-session/s-1/end":         {{0, `{"success":true}`}},
	})
	ctx := t.Context()
	session, err := f.AvatarSessions.Create(ctx, "v-1", management.IdempotencyKey("k"))
	if err != nil || session.ID != "s-1" || session.Token() != token || !session.ExpiresAt.Equal(ends) {
		t.Fatalf("%v, %v, until %v", session, err, session.ExpiresAt)
	}
	made, body := f.last()
	if made.auth != "KS "+adminKS || made.header.Get("Idempotency-Key") != "k" || !reflect.DeepEqual(body, map[string]any{"visualConfig": map[string]any{"id": "v-1"}}) {
		t.Errorf("asked with %s for %s", made.auth, made.body)
	}
	media, err := f.AvatarSessions.Media(ctx, session)
	if err != nil || media.WHEPURL != "https://media.example/whep" || media.TURN.Credential != "the-relay-credential" {
		t.Errorf("media %v, %v", media, err)
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", session, &session, session), fmt.Sprintf("%v %+v", media.TURN, *media)} {
		if strings.Contains(text, token) || strings.Contains(text, "the-relay-credential") {
			t.Errorf("a secret is in %s", text)
		}
	}
	if text, err := json.Marshal(session); err != nil || string(text) != `{"sessionId":"s-1"}` {
		t.Errorf("as JSON %s, %v", text, err)
	}
	f.take()
	turn, err := f.AvatarSessions.Say(ctx, session, management.Speech{Audio: []byte("RIFF"), MIMEType: "audio/wav", Duration: 1500 * time.Millisecond, TurnID: "t-1"})
	if err != nil || turn != "t-1" {
		t.Errorf("turn %s, %v", turn, err)
	}
	said := f.take()[0]
	_, parameters, _ := mime.ParseMediaType(said.header.Get("Content-Type"))
	form := must.Get(multipart.NewReader(strings.NewReader(said.body), parameters["boundary"]).ReadForm(1 << 20))(t)
	if file := form.File["audio"][0]; !reflect.DeepEqual(form.Value, map[string][]string{"turnId": {"t-1"}, "duration": {"1.5"}}) || file.Header.Get("Content-Type") != "audio/wav" || file.Filename != "audio" {
		t.Errorf("said %v %v", form.Value, file)
	}
	must.Do(t, f.AvatarSessions.Interrupt(ctx, session))
	must.Do(t, f.AvatarSessions.KeepAlive(ctx, management.NewAvatarSession(session.ID, session.Token())))
	must.Do(t, f.AvatarSessions.End(ctx, session))
	for _, a := range append(f.take(), said) {
		if a.service != "agent" || a.auth != "Bearer "+token {
			t.Errorf("%s %s with %s", a.service, a.path, a.auth)
		}
	}
}

func TestAvatarSessionsThatAreRefused(t *testing.T) {
	session := management.NewAvatarSession("s-1", avatarToken(time.Now()))
	ctx := t.Context()
	c := newFake(t, nil)
	wantCode(t, "no visual", drop(c.AvatarSessions.Create(ctx, "")), fault.BadRequest)
	wantCode(t, "no audio", drop(c.AvatarSessions.Say(ctx, session, management.Speech{Duration: time.Second})), fault.BadRequest)
	wantCode(t, "no duration", drop(c.AvatarSessions.Say(ctx, session, management.Speech{Audio: []byte("x")})), fault.BadRequest)
	wantCode(t, "no id", c.AvatarSessions.End(ctx, management.NewAvatarSession("", "token")), fault.BadRequest)
	wantCode(t, "no token", drop(c.AvatarSessions.Media(ctx, management.AvatarSession{ID: "s-1"})), fault.BadRequest)
	visitor := management.WithToken(ctx, management.Token{Kind: management.AgentToken})
	wantCode(t, "a visitor's token", drop(c.AvatarSessions.Create(visitor, "v-1")), fault.WrongTokenScope)
	wantRequests(t, c)
	f := newFake(t, map[string][]answer{
		"/avatar-session/create":        {{0, `{"sessionId":"s-1"}`}},
		"/avatar-session/s-1/say-audio": {{503, ``}, {0, `{"turnId":"t-1","success":true}`}},
	})
	_, err := f.AvatarSessions.Create(ctx, "v-1")
	wantCode(t, "a reply without a token", err, fault.ServerError)
	f.take()
	_, err = f.AvatarSessions.Say(ctx, session, management.Speech{Audio: []byte("x"), Duration: time.Second})
	if err == nil || len(f.take()) != 1 {
		t.Errorf("a sound was sent again after %v", err)
	}
	if strings.Contains(fmt.Sprintf("%+v", err), session.Token()) {
		t.Errorf("the token is in %+v", err)
	}
}

// TestAvatarSessionsOnTheService: what a call sends, and what the service makes of it, have tests
// of their own; here is what one tells the other.
func TestAvatarSessionsOnTheService(t *testing.T) {
	c, _ := newClient(t)
	ctx := t.Context()
	visual := must.Get(management.First(c.Catalog.List(ctx, management.CatalogFilter{Type: management.CatalogVisual})))(t)
	session := must.Get(c.AvatarSessions.Create(ctx, visual.ID))(t)
	if left := time.Until(session.ExpiresAt); left < 50*time.Minute || left > time.Hour {
		t.Errorf("the token ends in %v", left)
	}
	media, err := c.AvatarSessions.Media(ctx, session)
	if err != nil || media.WHEPURL == "" || media.TURN.URL == "" {
		t.Errorf("media %v, %v", media, err)
	}
	must.Do(t, c.AvatarSessions.End(ctx, session))
	wantCode(t, "after its end", c.AvatarSessions.KeepAlive(ctx, session), fault.NotFound)
}
