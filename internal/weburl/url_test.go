package weburl

import "testing"

// TestParseAgreesEverywhere runs natively and in a page.
func TestParseAgreesEverywhere(t *testing.T) {
	for address, want := range map[string]URL{
		"https://a.example/b/c?d=e#f": {Scheme: "https", Host: "a.example", Hostname: "a.example", Path: "/b/c", Query: true},
		"HTTP://127.0.0.1:8080/x":     {Scheme: "http", Host: "127.0.0.1:8080", Hostname: "127.0.0.1", Path: "/x"},
		"http://[::1]:9/x":            {Scheme: "http", Host: "[::1]:9", Hostname: "::1", Path: "/x"},
		"https://u:p@a.example/":      {Scheme: "https", Host: "a.example", Hostname: "a.example", Path: "/", User: true},
		"https://@a.example/":         {Scheme: "https", Host: "a.example", Hostname: "a.example", Path: "/", User: true},
		"https://a.example/x@y":       {Scheme: "https", Host: "a.example", Hostname: "a.example", Path: "/x@y"},
		"docs/page?x":                 {Path: "docs/page", Query: true},
		"/docs/page#top":              {Path: "/docs/page"},
		"//a.example/b":               {Host: "a.example", Hostname: "a.example", Path: "/b"},
	} {
		got, err := Parse(address)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
	for _, scheme := range []string{"javascript:alert(1)", "mailto:a@b.example", "data:text/html,x"} {
		if u, err := Parse(scheme); err != nil || u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "" {
			t.Errorf("%s: %+v, %v", scheme, u, err)
		}
	}
	for _, bad := range []string{"http://[::1/", "java\nscript:alert(1)", "http://a.example:port/", "http://a.example/%zz", "b%2"} {
		if u, err := Parse(bad); err == nil {
			t.Errorf("%q gave %+v", bad, u)
		}
	}
}

func TestEscape(t *testing.T) {
	if got := Escape("a b&c=é/~"); got != "a+b%26c%3D%C3%A9%2F~" {
		t.Error(got)
	}
}

func TestReachOf(t *testing.T) {
	for address, want := range map[string]Reach{
		"127.0.0.1": Local, "0.0.0.0": Local, "::1": Local, "::": Local,
		"10.1.2.3": Private, "192.168.0.1": Private, "172.16.0.1": Private, "172.31.9.9": Private, "169.254.1.1": Private,
		"fd00::1": Private, "fc12:3456::": Private, "fe80::1": Private, "fe80::1%eth0": Private, "febf::1": Private, "::ffff:10.0.0.1": Private,
		"8.8.8.8": Public, "172.32.0.1": Public, "192.169.0.1": Public, "2001:db8::1": Public, "fec0::1": Public, "::ffff:8.8.8.8": Public,
	} {
		if got, ok := ReachOf(address); !ok || got != want {
			t.Errorf("%s: %v, %v", address, got, ok)
		}
	}
	for _, name := range []string{"", "a.example", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4x", "::g", "1:2", "0x7f.0.0.1", "01.2.3.4"} {
		if r, ok := ReachOf(name); ok {
			t.Errorf("%q gave %v", name, r)
		}
	}
}
