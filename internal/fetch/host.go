package fetch

import (
	"net/netip"
	"strconv"
	"strings"
)

// PrivateHost reports whether host (without port, with or without the brackets
// of IPv6) is localhost or a loopback, private or link-local address
// (wire-protocol §6.7). Names are not resolved. isPrivate of js/src/options.ts is the
// same rule for hosts that a browser has normalized.
func PrivateHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	addr, err := netip.ParseAddr(host)
	if err != nil {
		addr = shortIPv4(host)
	}
	addr = addr.Unmap()
	return addr.IsLoopback() || addr.IsUnspecified() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
}

// shortIPv4 reads the forms of an IPv4 address that browsers accept besides the
// usual one, and returns the zero Addr for anything else: one to four numbers,
// decimal, octal (0…) or hexadecimal (0x…), the last of which fills the
// remaining bytes. 2130706433, 0x7f.1 and 0177.0.0.1 are all 127.0.0.1.
func shortIPv4(host string) (none netip.Addr) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return none
	}
	var address uint64
	for i, part := range parts {
		n, ok := ipv4Number(part)
		if !ok {
			return none
		}
		if i < len(parts)-1 {
			if n > 0xFF {
				return none
			}
			address |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(4-i)) {
			return none
		}
		address |= n
	}
	return netip.AddrFrom4([4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)})
}

func ipv4Number(s string) (uint64, bool) {
	base := 10
	switch {
	case s == "0x":
		return 0, true // as in browsers
	case strings.HasPrefix(s, "0x"):
		base, s = 16, s[2:]
	case len(s) > 1 && s[0] == '0':
		base, s = 8, s[1:]
	}
	n, err := strconv.ParseUint(s, base, 40) // wider than any part, so that larger numbers are detected
	return n, err == nil
}
