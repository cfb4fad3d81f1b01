package media

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/appinit"
)

func TestTURNHostExpands(t *testing.T) {
	four := func(host string) []string {
		return []string{
			"turn:" + host + ":80?transport=udp", "turn:" + host + ":443?transport=udp",
			"turn:" + host + ":80?transport=tcp", "turns:" + host + ":443?transport=tcp",
		}
	}
	for _, test := range []struct {
		server string
		want   []string
	}{
		{"", nil},
		{"/", nil},
		{"turn:", nil},
		{"turn.example", four("turn.example")},
		{"turn.example/", four("turn.example")},
		{"turn:turn.example", four("turn.example")},
		{"TURNS:turn.example/", four("turn.example")},
		{"turn://turn.example", four("turn.example")},
		{" turn.example ", four("turn.example")},
		{"2001:db8::1", four("[2001:db8::1]")},
		{"[2001:db8::1]", four("[2001:db8::1]")},
		{"host:3478", []string{"turn:host:3478"}},
		{"turns:host:5349", []string{"turns:host:5349"}},
		{"[::1]:3478", []string{"turn:[::1]:3478"}},
		{"turn:127.0.0.1:3478?transport=udp", []string{"turn:127.0.0.1:3478?transport=udp"}},
		{"host?transport=tcp", []string{"turn:host?transport=tcp"}},
	} {
		if got := turnURLs(test.server); !reflect.DeepEqual(got, test.want) {
			t.Errorf("turnURLs(%q) = %q, want %q", test.server, got, test.want)
		}
	}
}

func TestICEServers(t *testing.T) {
	raw := []ICEServer{{URLs: []string{"stun:s.example"}}}
	own := &appinit.TURNCredentials{Username: "u", Credential: "c"}
	for _, test := range []struct {
		name     string
		config   Config
		want     []ICEServer
		fallback bool
	}{
		{"none", Config{}, nil, false},
		{"none, with credentials", Config{TURNCredentials: own}, nil, false},
		{"given credentials win", Config{TURNServer: "h:1", TURNCredentials: own}, []ICEServer{{[]string{"turn:h:1"}, "u", "c"}}, false},
		{"fallback pair", Config{TURNServer: "h:1"}, []ICEServer{{[]string{"turn:h:1"}, "kaltura", "avatar"}}, true},
		{"raw servers win", Config{TURNServer: "h:1", ICEServers: raw}, raw, false},
	} {
		got, fallback := test.config.iceServers()
		if !reflect.DeepEqual(got, test.want) || fallback != test.fallback {
			t.Errorf("%s: %v, fallback %v; want %v, %v", test.name, got, fallback, test.want, test.fallback)
		}
	}
}

func TestICEServersFromJSON(t *testing.T) {
	var servers []ICEServer
	text := `[{"urls":"stun:a"},{"urls":["turn:b","turn:c"],"username":"u","credential":"p"},{"urls":[]}]`
	want := []ICEServer{{URLs: []string{"stun:a"}}, {URLs: []string{"turn:b", "turn:c"}, Username: "u", Credential: "p"}, {URLs: []string{}}}
	if err := json.Unmarshal([]byte(text), &servers); err != nil || !reflect.DeepEqual(servers, want) {
		t.Errorf("%v, %v", servers, err)
	}
	for _, bad := range []string{`{}`, `{"urls":7}`, `{"urls":{}}`, `{"urls":[1]}`, `7`} {
		if err := json.Unmarshal([]byte(bad), new(ICEServer)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	again, err := json.Marshal(want[1])
	if err != nil || string(again) != `{"urls":["turn:b","turn:c"],"username":"u","credential":"p"}` {
		t.Errorf("%s, %v", again, err)
	}
}

func TestFallbackCredentialsWarnOnce(t *testing.T) {
	var warnings []string
	New(Config{TURNServer: "turn.example", Log: func(level, message string, _ map[string]any) {
		warnings = append(warnings, level+": "+message)
	}}).Close()
	want := []string{"warn: security: the relay is used with the built-in credentials, which are public; pass turnCredentials"}
	if !reflect.DeepEqual(warnings, want) {
		t.Errorf("warnings %q", warnings)
	}
}

func TestLoginsAreNotPrinted(t *testing.T) {
	c := Config{TURNCredentials: &appinit.TURNCredentials{Username: "user17", Credential: "pass17"}, TURNServer: "turn.example:1"}
	servers, _ := c.iceServers()
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", *c.TURNCredentials, c.TURNCredentials, *c.TURNCredentials), fmt.Sprintf("%v %+v %#v", servers, servers[0], servers[0])} {
		if strings.Contains(text, "17") {
			t.Error(text)
		}
	}
	expect.Equal(t, servers[0].Credential, "pass17", "the login is lost")
}

func TestDownlinkPolicy(t *testing.T) {
	relay := []ICEServer{{URLs: []string{"turn:h"}}}
	for _, test := range []struct {
		config  Config
		servers []ICEServer
		firefox bool
		want    string
	}{
		{Config{}, relay, false, "relay"},
		{Config{}, relay, true, "all"},
		{Config{}, nil, false, "all"},
		{Config{ICEPolicy: "all"}, relay, false, "all"},
		{Config{ICEPolicy: "relay"}, relay, true, "relay"},
		{Config{ICEPolicy: "relay"}, nil, false, "relay"},
	} {
		if got := test.config.subscriberPolicy(test.servers, test.firefox); got != test.want {
			t.Errorf("policy %q, firefox %v, %d servers: %s, want %s", test.config.ICEPolicy, test.firefox, len(test.servers), got, test.want)
		}
	}
}

func TestWebKitGetsURLsWithoutQueries(t *testing.T) {
	if !refusesQueries("SyntaxError: ICE server parsing failed: TURN URL query string is not supported") || refusesQueries("no such host") {
		t.Error("the exception is told wrong")
	}
	servers := []ICEServer{{URLs: turnURLs("h"), Username: "u", Credential: "c"}}
	want := []ICEServer{{URLs: []string{"turn:h:80", "turn:h:443", "turn:h:80", "turns:h:443"}, Username: "u", Credential: "c"}}
	if got := withoutQueries(servers); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	expect.Equal(t, servers[0].URLs[0], "turn:h:80?transport=udp", "the servers given were changed")
}

// TestANewRelayLogin is used by the peers to come, and only for the relay.
func TestANewRelayLogin(t *testing.T) {
	given := []ICEServer{
		{URLs: []string{"stun:stun.example"}},
		{URLs: []string{"turns:relay.example:443"}, Username: "old", Credential: "old"},
	}
	e := New(Config{ICEServers: given})
	defer e.Close()
	e.SetRelayLogin(appinit.TURNCredentials{Username: "u", Credential: "c"})
	got := e.iceServers()
	if got[0].Username != "" || got[1].Username != "u" || got[1].Credential != "c" {
		t.Errorf("servers %q, logins %q and %q", got, got[0].Username, got[1].Username)
	}
	expect.Equal(t, given[1].Username, "old", "the application's list was changed")
}
