package fetch

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// PrivateHost reports whether host (without port, with or without the brackets of IPv6)
// is in a private network (protocol §6.7): a loopback, private, shared (100.64/10)
// or link-local address, an IPv6 address with such an IPv4 address in it, or a name that
// only the local network resolves: localhost, a name below .localhost or .local, or a
// name without a dot. Names are not resolved. isPrivate of js/src/core/options.ts implements
// the same rule for hosts that a browser has normalized.
func PrivateHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if err != nil {
		addr = shortIPv4(host)
	}
	switch {
	case addr.IsValid():
		return privateAddr(addr.WithZone(""))
	case strings.ContainsFunc(host, func(c rune) bool { return c >= 0x80 }):
		return false // browsers convert some characters, such as U+3002, to a dot
	}
	return host != "" && !strings.ContainsAny(host, ".:") || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local")
}

func privateAddr(addr netip.Addr) bool {
	if v4, ok := embedded(addr); ok {
		addr = v4
	}
	return slices.ContainsFunc(privateNets, func(net netip.Prefix) bool { return net.Contains(addr) })
}

// privateNets are the networks that are not on the internet. 64:ff9b:1::/48 is the
// NAT64 prefix for local use (RFC 8215).
var privateNets = nets(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
	"fc00::/7", "fe80::/10", "64:ff9b:1::/48",
)

// withIPv4 are the networks whose addresses contain an IPv4 address: compatible, mapped
// and NAT64 at the end, 6to4 after the prefix.
var withIPv4 = nets("::/96", "::ffff:0:0/96", "64:ff9b::/96", "2002::/16")

func nets(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// embedded returns the IPv4 address in an IPv6 address; for ::1 it is 0.0.0.1, in 0.0.0.0/8.
func embedded(addr netip.Addr) (v4 netip.Addr, ok bool) {
	for _, net := range withIPv4 {
		if net.Contains(addr) {
			bytes, from := addr.As16(), net.Bits()/8
			return netip.AddrFrom4([4]byte(bytes[from : from+4])), true
		}
	}
	return addr, false
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
