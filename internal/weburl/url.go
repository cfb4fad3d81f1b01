package weburl

import (
	"errors"
	"strings"
)

// URL is an address taken apart.
type URL struct {
	Scheme   string // in lower case; empty for a relative reference
	Host     string // with the port, if there is one
	Hostname string // without it, and without the brackets of IPv6
	Path     string
	User     bool // there is a user or a password in it, or room for one
	Query    bool // there is a question mark
}

var errAddress = errors.New("the text is no address")

// Parse takes an address apart, which may be a relative reference. Control
// characters are an error, because browsers skip some of them, and so is a percent
// sign in front of the query that begins no escape, which browsers let pass.
func Parse(address string) (URL, error) {
	if strings.ContainsFunc(address, func(r rune) bool { return r < ' ' || r == 0x7f }) || hasBadEscape(address) {
		return URL{}, errAddress
	}
	u, err := parse(address)
	if err != nil {
		return URL{}, errAddress
	}
	u.Query = strings.Contains(address, "?")
	return u, nil
}

func hasBadEscape(address string) bool {
	path, _, _ := strings.Cut(address, "?")
	for _, escape := range strings.Split(path, "%")[1:] {
		if len(escape) < 2 || !isHex(escape[0]) || !isHex(escape[1]) {
			return true
		}
	}
	return false
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// Reach says who can reach an IP address.
type Reach int

// The reaches. Local is this machine: loopback and unspecified; Private is a
// network of its own, or one link.
const (
	Public Reach = iota
	Local
	Private
)

// Escape returns s as it stands in a query or a form: what is no letter or digit
// is escaped, a blank is a plus.
func Escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.~", c) >= 0:
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
