//go:build js && wasm

package weburl

import (
	"strconv"
	"strings"
	"syscall/js"
)

var constructor = js.Global().Get("URL")

// base stands for the page in relative references.
const base = "https://base.invalid"

func parse(address string) (u URL, err error) {
	defer func() {
		if r := recover(); r != nil { // js.Error: the constructor refuses it
			u, err = URL{}, errAddress
		}
	}()
	scheme, rest, absolute := strings.Cut(address, ":")
	if !absolute || !isScheme(scheme) {
		v := constructor.New(address, base)
		if v.Get("origin").String() == base && !strings.HasPrefix(address, "//") {
			path, _, _ := strings.Cut(address, "?")
			path, _, _ = strings.Cut(path, "#")
			return URL{Path: path}, nil
		}
		u = of(v)
		u.Scheme = ""
		return u, nil
	}
	u = of(constructor.New(address))
	authority, _, _ := strings.Cut(strings.TrimLeft(rest, `/\`), "/")
	u.User = u.User || strings.HasPrefix(rest, "//") && strings.Contains(authority, "@")
	return u, nil
}

func of(v js.Value) URL {
	text := func(name string) string { return v.Get(name).String() }
	return URL{
		Scheme:   strings.TrimSuffix(text("protocol"), ":"),
		Host:     text("host"),
		Hostname: strings.Trim(text("hostname"), "[]"),
		Path:     text("pathname"),
		User:     text("username") != "" || text("password") != "",
	}
}

// isScheme reports whether s is one in the sense of RFC 3986 §3.1.
func isScheme(s string) bool {
	for i, c := range s {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}

// ReachOf tells of an IP address, IPv6 without brackets; ok is false for any other
// text.
func ReachOf(address string) (r Reach, ok bool) {
	if strings.Contains(address, ":") {
		address, _, _ = strings.Cut(address, "%") // the zone
		u, err := parse("http://[" + address + "]/")
		if err != nil {
			return Public, false
		}
		return reachOf6(u.Hostname), true
	}
	u, err := parse("http://" + address + "/")
	if err != nil || u.Hostname != address || !isIPv4(address) {
		return Public, false
	}
	return reachOf4(address), true
}

// isIPv4 reports whether s, which a browser left as it is for a host, is an
// address and no name.
func isIPv4(s string) bool {
	return strings.Count(s, ".") == 3 && strings.Trim(s, "0123456789.") == ""
}

func reachOf4(s string) Reach {
	first, rest, _ := strings.Cut(s, ".")
	second, _, _ := strings.Cut(rest, ".")
	n, _ := strconv.Atoi(second)
	switch {
	case first == "127", s == "0.0.0.0":
		return Local
	case first == "10", first == "192" && n == 168, first == "169" && n == 254, first == "172" && 16 <= n && n <= 31:
		return Private
	}
	return Public
}

// reachOf6 knows s in the form of RFC 5952, which browsers make of every address:
// an IPv4 in it is two groups of four digits.
func reachOf6(s string) Reach {
	if mapped, ok := strings.CutPrefix(s, "::ffff:"); ok {
		high, low, _ := strings.Cut(mapped, ":")
		h, _ := strconv.ParseUint(high, 16, 16)
		l, _ := strconv.ParseUint(low, 16, 16)
		return reachOf4(strings.Join([]string{
			strconv.Itoa(int(h >> 8)), strconv.Itoa(int(h & 255)), strconv.Itoa(int(l >> 8)), strconv.Itoa(int(l & 255)),
		}, "."))
	}
	first, _, _ := strings.Cut(s, ":")
	n, err := strconv.ParseUint(first, 16, 16)
	switch {
	case s == "::1", s == "::":
		return Local
	case err == nil && (n>>9 == 0xfc>>1 || n>>6 == 0xfe80>>6):
		return Private
	}
	return Public
}
