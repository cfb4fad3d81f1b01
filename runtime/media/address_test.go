package media

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestMediaAddresses(t *testing.T) {
	for _, test := range []struct {
		address string
		want    fault.Code // of the strict rules
		dev     fault.Code // with both switches on
	}{
		{"https://media.example/whep", "", ""},
		{"https://8.8.8.8/whep", "", ""},
		{"https://172.32.0.1/", "", ""},
		{"https://[2001:db8::1]/", "", ""},
		{"https://10.example/", "", ""},
		{"https://0x7f.example/", "", ""},
		{"http://media.example/", fault.InsecureTransport, ""},
		{"https://localhost/", fault.WHEPPrivateIP, ""},
		{"https://LocalHost./", fault.WHEPPrivateIP, ""},
		{"http://127.0.0.1:8080/whep", fault.WHEPPrivateIP, ""},
		{"https://127.9.9.9/", fault.WHEPPrivateIP, ""},
		{"https://10.1.2.3/", fault.WHEPPrivateIP, ""},
		{"https://172.16.0.1/", fault.WHEPPrivateIP, ""},
		{"https://172.31.255.255/", fault.WHEPPrivateIP, ""},
		{"https://192.168.1.1/", fault.WHEPPrivateIP, ""},
		{"https://169.254.1.1/", fault.WHEPPrivateIP, ""},
		{"https://0.0.0.0/", fault.WHEPPrivateIP, ""},
		{"https://127.0.0.1./", fault.WHEPPrivateIP, ""},
		{"https://2130706433/", fault.WHEPPrivateIP, ""},
		{"https://0x7f000001/", fault.WHEPPrivateIP, ""},
		{"https://0X7F.1/", fault.WHEPPrivateIP, ""},
		{"https://0177.0.0.1/", fault.WHEPPrivateIP, ""},
		{"https://127.1/", fault.WHEPPrivateIP, ""},
		{"https://10.66051/", fault.WHEPPrivateIP, ""},
		{"https://0xA.0x0.0x0.0x1/", fault.WHEPPrivateIP, ""},
		{"https://0/", fault.WHEPPrivateIP, ""},
		{"https://[::1]/", fault.WHEPPrivateIP, ""},
		{"https://[fc00::1]/", fault.WHEPPrivateIP, ""},
		{"https://[fdab::1]/", fault.WHEPPrivateIP, ""},
		{"https://[fe80::1%25eth0]/", fault.WHEPPrivateIP, ""},
		{"https://[febf::1]/", fault.WHEPPrivateIP, ""},
		{"https://[::ffff:10.0.0.1]/", fault.WHEPPrivateIP, ""},
		{"https://[::ffff:7f00:1]/", fault.WHEPPrivateIP, ""},
		{"https://１２７.0.0.1/", fault.WHEPPrivateIP, ""},
		{"https://127。0。0。1/", fault.WHEPPrivateIP, ""},
		{"https://[::127.0.0.1]/", fault.WHEPPrivateIP, ""},
		{"https://[64:ff9b::10.0.0.1]/", fault.WHEPPrivateIP, ""},
		{"https://[2002:c0a8:101::1]/", fault.WHEPPrivateIP, ""},
		{"https://100.64.0.1/", fault.WHEPPrivateIP, ""},
		{"https://camera.local/", fault.WHEPPrivateIP, ""},
		{"https://intranet/", fault.WHEPPrivateIP, ""},
		{"", fault.WHEPFailed, fault.WHEPFailed},
		{"/whep", fault.WHEPFailed, fault.WHEPFailed},
		{"ftp://media.example/", fault.WHEPFailed, fault.WHEPFailed},
		{"https://", fault.WHEPFailed, fault.WHEPFailed},
		{"https://a b/", fault.WHEPFailed, fault.WHEPFailed},
		{`https://127.0.0.1\@media.example/`, fault.WHEPFailed, fault.WHEPFailed},
	} {
		for _, rules := range []struct {
			Config
			want fault.Code
		}{{Config{}, test.want}, {Config{AllowPrivateHosts: true, AllowInsecureTransport: true}, test.dev}} {
			f := (&whep{Config: &rules.Config}).check(test.address)
			switch {
			case rules.want == "" && f != nil:
				t.Errorf("%s in development %t: %v", test.address, rules.AllowPrivateHosts, f)
			case rules.want != "" && (f == nil || f.Code != rules.want || f.Phase != fault.PhaseWHEP || f.Retryable):
				t.Errorf("%s in development %t: %v, want %s", test.address, rules.AllowPrivateHosts, f, rules.want)
			}
		}
	}
}

const (
	sessionURL  = "https://edge.example/rtc/v1/stv/room9/whep/session/s-81"
	fallbackURL = "https://edge.example/rtc/v1/whep/?app=app&stream=s-81"
)

func TestReleaseURL(t *testing.T) {
	for _, test := range []struct{ subscribed, location, want string }{
		{sessionURL, "", ""},
		{sessionURL, "https://other.example/x?y", "https://other.example/x?y"},
		{sessionURL, "HTTPS://other.example/viewer/1", "HTTPS://other.example/viewer/1"},
		{sessionURL, "/whep/session/s-81/viewer/v-3", sessionURL + "/viewer/v-3"},
		{sessionURL, "viewer/v-3", "https://edge.example/rtc/v1/stv/room9/whep/session/viewer/v-3"},
		{sessionURL + "//?a=b#c", "/viewer/v-3?d=e", sessionURL + "/viewer/v-3?d=e"},
		{fallbackURL, "/viewer/v-3", "https://edge.example/rtc/v1/whep/viewer/v-3"},
		{fallbackURL, "?action=delete&stream=s-81", "https://edge.example/rtc/v1/whep/?action=delete&stream=s-81"},
		{fallbackURL, "/other", "https://edge.example/other"},
		{fallbackURL, "../up", "https://edge.example/rtc/v1/up"},
		{fallbackURL, "//other.example/x", "https://other.example/x"},
		{fallbackURL, "%zz", "%zz"},
		{fallbackURL, "1http://x", "1http://x"},
	} {
		expect.Equal(t, releaseURL(test.subscribed, test.location), test.want, "releaseURL(%q, %q)", test.subscribed, test.location)
	}
}
