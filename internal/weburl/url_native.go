//go:build !js

package weburl

import (
	"net/netip"
	"net/url"
)

func parse(address string) (URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return URL{}, err
	}
	return URL{Scheme: u.Scheme, Host: u.Host, Hostname: u.Hostname(), Path: u.Path, User: u.User != nil}, nil
}

// ReachOf tells of an IP address, IPv6 without brackets; ok is false for any other
// text.
func ReachOf(address string) (r Reach, ok bool) {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return Public, false
	}
	switch addr = addr.Unmap(); {
	case addr.IsLoopback(), addr.IsUnspecified():
		return Local, true
	case addr.IsPrivate(), addr.IsLinkLocalUnicast():
		return Private, true
	}
	return Public, true
}
