package appinit

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// services in the order of protocol §1.1.
var services = []Service{Agentic, Genie, OVP, Messaging}

func TestResolve(t *testing.T) {
	us := []string{
		"https://api.avatar.us.kaltura.ai/v1", "https://genie.nvp1.ovp.kaltura.com",
		"https://www.kaltura.com/api_v3", "https://messaging.nvp1.ovp.kaltura.com/api/v1",
	}
	eu := []string{
		"https://api.avatar.eu.kaltura.ai/v1", "https://genie.frp2.ovp.kaltura.com",
		"https://api.frp2.ovp.kaltura.com/api_v3", "region_unavailable",
	}
	tests := []struct {
		name   string
		config Config
		want   []string // bases, or the code that asking for one gives
	}{
		{"rule 1: nvp1 without a region", Config{}, us},
		{"rule 1: the region's own", Config{Region: new("nvp1")}, us},
		{"rule 3: a service the region lacks", Config{Region: new("frp2")}, eu},
		{"rule 3: unless an address is given", Config{Region: new("frp2"), MessagingURL: new("https://mail.example")}, []string{eu[0], eu[1], eu[2], "https://mail.example"}},
		{"rule 1: a given address wins", Config{Region: new("frp2"), GenieURL: new("https://brain.example/")}, []string{eu[0], "https://brain.example", eu[2], eu[3]}},
		{"rule 1: a deployment outside the table", Config{
			AgenticURL: new("https://a.example/v1"), GenieURL: new("https://b.example"), OVPURL: new("https://c.example/api"), MessagingURL: new("https://d.example"),
		}, []string{"https://a.example/v1", "https://b.example", "https://c.example/api", "https://d.example"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addresses := must.Get(test.config.Resolve())(t)
			var got []string
			for _, s := range services {
				base, err := addresses.Base(s)
				if err != nil {
					base = string(fault.From(err).Code)
				}
				got = append(got, base)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestUnknownRegion(t *testing.T) {
	for _, code := range []string{"", "NVP1", "eu", "frp2 ", "djJ8NTUwMXxabc"} {
		_, err := Config{Region: &code}.Resolve()
		if !errors.Is(err, fault.BadRequest) || err.Error() != "bad_request: unknown region; supported are nvp1, frp2" {
			t.Errorf("%q: %v", code, err)
		}
	}
}

// TestEveryAddressIsChecked gives each of the four options the same bad value.
func TestEveryAddressIsChecked(t *testing.T) {
	bad := new("https://user:hunter22@x.example")
	for name, c := range map[Service]Config{
		Agentic: {AgenticURL: bad}, Genie: {GenieURL: bad}, OVP: {OVPURL: bad}, Messaging: {MessagingURL: bad},
	} {
		_, err := c.Resolve()
		if !errors.Is(err, fault.BadRequest) || !strings.Contains(err.Error(), string(name)+" must not have a user") || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	const bad, insecure = fault.BadRequest, fault.InsecureTransport
	tests := []struct {
		address string
		want    string
		code    fault.Code // the error
		warns   bool
	}{
		{"https://x.example", "https://x.example", "", false},
		{"https://x.example/", "https://x.example", "", false},
		{"https://x.example/v1//", "https://x.example/v1/", "", false},
		{"https://x.example:8443/a", "https://x.example:8443/a", "", false},
		{"HTTPS://x.example", "HTTPS://x.example", "", false},
		{"https://10.0.0.1", "https://10.0.0.1", "", false},

		{"", "", bad, false},
		{" ", "", bad, false},
		{"x.example", "", bad, false},
		{"//x.example", "", bad, false},
		{"/v1", "", bad, false},
		{"https://", "", bad, false},
		{"https:///v1", "", bad, false},
		{"https://:443", "", bad, false},
		{"https://x.example:port", "", bad, false},
		{"https://x.example/%zz", "", bad, false},
		{"https://[::1", "", bad, false},
		{"https://x.example/\n", "", bad, false},
		{"ftp://x.example", "", bad, false},
		{"javascript:alert(1)", "", bad, false},
		{"wss://x.example", "", bad, false},
		{"https://user@x.example", "", bad, false},
		{"https://user:pass@x.example", "", bad, false},
		{"https://:pass@x.example", "", bad, false},
		{"http://user:pass@localhost", "", bad, false},
		{"https://x.example?a=1", "", bad, false},
		{"https://x.example/?", "", bad, false},
		{"https://x.example/#a", "", bad, false},

		{"http://x.example", "", insecure, false},
		{"HTTP://x.example", "", insecure, false},
		{"http://8.8.8.8", "", insecure, false},
		{"http://172.32.0.1", "", insecure, false},
		{"http://localhost.example.com", "", insecure, false},
		{"http://10.0.0.1.example.com", "", insecure, false},
		{"http://[2001:db8::1]", "", insecure, false},
		{"http://evil。example", "", insecure, false},

		{"http://localhost:8080/", "http://localhost:8080", "", true},
		{"http://LOCALHOST", "http://LOCALHOST", "", true},
		{"http://app.localhost.", "http://app.localhost.", "", true},
		{"http://127.0.0.1:1", "http://127.0.0.1:1", "", true},
		{"http://127.9.9.9", "http://127.9.9.9", "", true},
		{"http://0.0.0.0", "http://0.0.0.0", "", true},
		{"http://10.1.2.3", "http://10.1.2.3", "", true},
		{"http://172.16.0.1", "http://172.16.0.1", "", true},
		{"http://172.31.255.255", "http://172.31.255.255", "", true},
		{"http://192.168.1.1", "http://192.168.1.1", "", true},
		{"http://169.254.1.1", "http://169.254.1.1", "", true},
		{"http://100.64.0.1", "http://100.64.0.1", "", true},
		{"http://brain.local", "http://brain.local", "", true},
		{"http://brain:8080", "http://brain:8080", "", true},
		{"http://[::1]:80", "http://[::1]:80", "", true},
		{"http://[fd00::1]", "http://[fd00::1]", "", true},
		{"http://[fe80::1]", "http://[fe80::1]", "", true},
		{"http://[::ffff:10.0.0.1]", "http://[::ffff:10.0.0.1]", "", true},
		{"http://[::ffff:a00:1]", "http://[::ffff:a00:1]", "", true},
	}
	for _, test := range tests {
		t.Run(test.address, func(t *testing.T) {
			var warnings []*fault.Error
			p := Policy{Warn: func(w *fault.Error) { warnings = append(warnings, w) }}
			got, err := p.HTTP("genieUrl", test.address)
			if got != test.want || (err == nil) != (test.code == "") || err != nil && !errors.Is(err, test.code) {
				t.Errorf("got %q, %v", got, err)
			}
			if err != nil && (!strings.Contains(err.Error(), "genieUrl") || strings.Contains(err.Error(), "pass@")) {
				t.Errorf("message %q", err)
			}
			if (len(warnings) == 1) != test.warns || len(warnings) > 1 {
				t.Errorf("warnings %v", warnings)
			}
			if test.warns && warnings[0].Code != fault.InsecureTransport {
				t.Errorf("warning %v", warnings[0])
			}

			// Without Warn the result is the same.
			if silent, err := (Policy{}).HTTP("genieUrl", test.address); silent != got || (err == nil) != (test.code == "") {
				t.Errorf("without Warn: %q, %v", silent, err)
			}
		})
	}
}

func TestAllowInsecureTransport(t *testing.T) {
	var warnings []string
	p := Policy{AllowInsecureTransport: true, Warn: func(w *fault.Error) { warnings = append(warnings, w.Detail) }}
	got, err := p.HTTP("srsBaseUrl", "http://media.example/")
	if err != nil || got != "http://media.example" {
		t.Errorf("got %q, %v", got, err)
	}
	want := []string{"srsBaseUrl uses http to the public host media.example, which allowInsecureTransport permits; for tests only"}
	if !reflect.DeepEqual(warnings, want) {
		t.Errorf("warnings %q", warnings)
	}
	expect.Fail(p.HTTP("srsBaseUrl", "http://user@media.example"))(t, fault.BadRequest, "the flag must not allow a user")
}

func TestSocketAddresses(t *testing.T) {
	for _, test := range []struct {
		address string
		code    error
	}{
		{"https://talk.example", nil},
		{"wss://talk.example", nil},
		{"https://talk.example/", nil},
		{"ws://localhost:9000", nil},
		{"ws://talk.example", fault.InsecureTransport},
		{"http://talk.example", fault.InsecureTransport},
		{"ftp://talk.example", fault.BadRequest},
		{"", fault.BadRequest},
	} {
		got, err := Policy{}.Socket("conversationManagerUrl", test.address)
		if !errors.Is(err, test.code) || err == nil && got != strings.TrimSuffix(test.address, "/") {
			t.Errorf("%q: %q, %v", test.address, got, err)
		}
	}
}
