package localservice_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/pion/turn/v5"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
)

// TestQuotasLeaveRoomForOthers: with one token, and with as many as it likes from
// one address, a client leaves slots and threads for a newcomer.
func TestQuotasLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{MaxCalls: 8, Script: script(fine), Quotas: localservice.Quotas{ThreadsPerToken: 20}}).Info()
	call := func(from, ks string) (got bool) {
		s := dialFrom(t, info, from)
		t.Cleanup(func() { _ = s.ws.CloseNow() })
		s.send(`40{"token":"` + ks + `"}`)
		if !s.until(`42["onServerConnected"`) {
			t.Fatal("not connected")
		}
		s.event("join", `{"channel":"room","kaltura":{"ks":"`+ks+`"}}`)
		if !s.until(`42["joinComplete"`) {
			t.Fatal("not joined")
		}
		s.event("stvNewSession", `{"room_id":"room"}`)
		frame, _ := s.read(`42["`)
		for !strings.HasPrefix(frame, `42["stvNewSession"`) && !strings.HasPrefix(frame, `42["throwToNoAgent"`) {
			var ok bool
			if frame, ok = s.read(`42["`); !ok {
				t.Fatal("no answer")
			}
		}
		return strings.HasPrefix(frame, `42["stvNewSession"`)
	}
	const abuser, newcomer = "127.0.0.2", "127.0.0.3"
	count := func(n int, token func() string) (got int) {
		for range n {
			if call(abuser, token()) {
				got++
			}
		}
		return got
	}
	one := initialise(t, info, "silent").KS
	if got := count(4, func() string { return one }); got != 2 {
		t.Errorf("one token has %d of 8 slots, want 2", got)
	}
	if got := count(8, func() string { return initialise(t, info, "silent").KS }); got != 4 {
		t.Errorf("many tokens of one address have %d more slots, want 4", got)
	}
	next := initialise(t, info, "silent").KS
	if !call(newcomer, next) {
		t.Error("the newcomer gets no slot")
	}

	begin := func(ks string) int {
		status, _ := postJSON(t, info.GenieURL+"/assistant/converse", ks, `{"userMessage":"Hello"}`)
		return status
	}
	status := http.StatusOK
	for i := 0; i < 30 && status == http.StatusOK; i++ {
		status = begin(one)
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("the last of 30 threads of a token: status %d", status)
	}
	if status := begin(next); status != http.StatusOK {
		t.Errorf("the newcomer's thread: status %d", status)
	}
}

// dialFrom opens a bare socket from one of the addresses of loopback.
func dialFrom(t *testing.T, info localservice.Info, from string) *intruder {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return dialSocketWith(t, info, &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
		DisableKeepAlives: true,
	}})
}

// TestBuiltInRelayLogin: everybody knows it, so a service for other machines has none.
func TestBuiltInRelayLogin(t *testing.T) {
	t.Parallel()
	for _, public := range []bool{false, true} {
		info := servicetest.Start(t, localservice.Options{AllowPublic: public}).Info()
		conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, err := turn.NewClient(&turn.ClientConfig{
			TURNServerAddr: strings.TrimPrefix(info.TURNServerURL, "turn:"), Conn: conn, Username: "kaltura", Password: "avatar",
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Listen(); err != nil {
			t.Fatal(err)
		}
		relayed, err := c.Allocate()
		if (err == nil) == public {
			t.Errorf("with public %t the login gives %v", public, err)
		}
		if err == nil {
			_ = relayed.Close()
		}
		c.Close()
		_ = conn.Close()
	}
}
