package localservice_test

import (
	"encoding/json"
	"net/url"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
)

// TestEndedTokenClosesItsSockets (service.md, Authentication rule 7; choice A5):
// session/end closes the sockets of the token and of its group, also one that is
// away and could be recovered, and no others.
func TestEndedTokenClosesItsSockets(t *testing.T) {
	t.Parallel()
	service := start(t, localservice.Options{Script: script(fine)})
	info := service.Info()
	agent, _ := info.Agent("silent")
	configuration := "geniegpcid:" + jsonNumber(agent.ConfigID)
	tokens := map[string]string{
		"own":        mint(t, info, "sam", configuration+",sessionid:g1"),
		"same group": mint(t, info, "sam", configuration+",sessionid:g1"),
		"away":       mint(t, info, "sam", configuration+",sessionid:g1"),
		"in join":    mint(t, info, "sam", configuration+",sessionid:g2"),
		"other":      mint(t, info, "sam", configuration+",sessionid:g2"),
		"no group":   mint(t, info, "sam", configuration),
	}
	sockets := startNode(t, "own", "same group", "in join", "other", "no group")
	for name, s := range sockets {
		s.open(appInit{ConversationManagerURL: info.ConversationManagerURL, KS: tokens[name]}, nil)
		s.expect("connect", "onServerConnected")
		joined := tokens[name]
		if name == "in join" { // the token of the join counts as well as that of the handshake
			joined = tokens["own"]
		}
		s.join(appInit{KS: joined}, nil)
	}
	away := intrude(t, info, tokens["away"])
	if err := away.ws.CloseNow(); err != nil {
		t.Fatal(err)
	}
	sessions := func() int { return len(service.Sessions(t.Context())) }
	if n := sessions(); n != 6 {
		t.Fatalf("the service has %d sessions, want 6, one of which waits for its client", n)
	}

	ended := time.Now()
	call(t, "", info.OVPURL+"/service/session/action/end", url.Values{"ks": {tokens["own"]}}, nil)
	for _, name := range []string{"own", "same group", "in join"} {
		sockets[name].expect("disconnect io server disconnect")
		if took := time.Since(ended); took > time.Second {
			t.Errorf("the socket %q was closed after %v", name, took)
		}
	}
	for _, name := range []string{"other", "no group"} {
		sockets[name].emit("checkAvailability", map[string]any{})
		sockets[name].expect("availabilityResult")
	}
	if n := sessions(); n != 2 {
		t.Errorf("the service has %d sessions, want 2", n)
	}
}

// TestEndedTokenOfARecoveredSession: a session that was recovered with a new token
// ends with that one too, and another user's token does not recover it.
func TestEndedTokenOfARecoveredSession(t *testing.T) {
	t.Parallel()
	info := start(t, localservice.Options{}).Info()
	token := func(user string) string { return conversationToken(t, info, "silent", user) }
	recoverAs := func(ks string) *intruder {
		s := dialSocket(t, info)
		s.send(`40{"token":"` + token("sam") + `"}`)
		var opened struct{ PID string }
		frame, ok := s.read("40")
		if !ok || json.Unmarshal([]byte(frame[2:]), &opened) != nil || opened.PID == "" {
			t.Fatalf("connected with %q", frame)
		}
		if err := s.ws.CloseNow(); err != nil {
			t.Fatal(err)
		}
		s = dialSocket(t, info)
		s.send(`40{"token":"` + ks + `","pid":"` + opened.PID + `","offset":""}`)
		if !s.until(`42["onServerConnected"`) { // missed, and sent again
			t.Fatal("not recovered")
		}
		return s
	}
	renewed := token("sam")
	s := recoverAs(renewed)
	call(t, "", info.OVPURL+"/service/session/action/end", url.Values{"ks": {renewed}}, nil)
	if !s.until("41") {
		t.Error("the session outlived the token that it was recovered with")
	}
	if s := recoverAs(token("eve")); !s.until(`42["throwToBadRequest"`) || !s.until("41") {
		t.Error("another user's token recovered the session")
	}
}
