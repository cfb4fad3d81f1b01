package localservice_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"

	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
)

func TestPublicAddressesNeedPermission(t *testing.T) {
	t.Parallel()
	for _, o := range []localservice.Options{
		{Addr: "0.0.0.0:0"},
		{Addr: ":0"},
		{Addr: "[::]:0"},
		{Addr: "agent.example:0"},
		{MediaAddr: "0.0.0.0:0"},
		{TURNListen: []string{"127.0.0.1:0", "0.0.0.0:0"}},
	} {
		s, err := localservice.Start(t.Context(), o)
		if s != nil {
			t.Errorf("%+v: started", o)
			_ = s.Close()
		}
		expect.Error(t, err, localservice.ErrPublic, "%+v: error", o)
	}
	everywhere := localservice.Options{Addr: "0.0.0.0:0", TURNListen: []string{"0.0.0.0:0"}, AllowPublic: true}
	if info := servicetest.Start(t, everywhere).Info(); !strings.HasPrefix(info.GenieURL, "http://127.0.0.1:") || !strings.HasPrefix(info.TURNServerURL, "turn:127.0.0.1:") {
		t.Errorf("a service that listens everywhere is called %s, and %s", info.GenieURL, info.TURNServerURL)
	}
	everywhere.PublicURL = "https://agent.example:8443"
	if info := servicetest.Start(t, everywhere).Info(); !strings.HasPrefix(info.TURNServerURL, "turn:agent.example:") {
		t.Errorf("the relay of a service with a name is called %s", info.TURNServerURL)
	}
}

// TestChatEndpointIsUsed: when its address is given, it answers instead of the demo
// brain.
func TestChatEndpointIsUsed(t *testing.T) {
	at := endpoint.Endpoint{BaseURL: "http://127.0.0.1:1/v1"}
	if _, err := localservice.Start(t.Context(), localservice.Options{Chat: at}); err == nil {
		t.Error("started without the model of the endpoint")
	}
	servicetest.Start(t, localservice.Options{Chat: at, Brain: localservice.BrainDemo})
}

// TestTheVoicesConnectionsEnd with the service, like those of the brain.
func TestTheVoicesConnectionsEnd(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 8)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "audio/wav")
		w.Write(audio.EncodeWAV(make([]int16, 8000), 16000)) //nolint:errcheck // the client is gone
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			gone <- struct{}{}
		}
	}
	server.Start()
	t.Cleanup(func() { // after the service has ended
		defer server.Close()
		select {
		case <-gone:
		case <-time.After(5 * time.Second):
			t.Error("a connection is left")
		}
	})
	c := converse(t, localservice.Options{Voice: "openai", Speech: endpoint.Endpoint{BaseURL: server.URL + "/v1"}}, "silent")
	c.say("Hello")
	c.until("stvStartedTalking")
}

func TestFailedStartLeavesNothing(t *testing.T) { // leaktest looks at the end
	t.Parallel()
	for _, o := range []localservice.Options{
		{Brain: "big"},
		{Brain: "openai"},
		{Voice: "opera"},
		{Script: []byte("rules: [{when: {}}]")},
		{TURNListen: []string{"127.0.0.1:99999"}},
	} {
		if s, err := localservice.Start(t.Context(), o); err == nil {
			t.Errorf("%+v: started", o)
			_ = s.Close()
		}
	}
}
