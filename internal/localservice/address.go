package localservice

import (
	"errors"
	"fmt"
	"net"
)

// ErrPublic means that an address can be reached from other machines and that
// public addresses were not allowed.
var ErrPublic = errors.New("address is not on loopback; set AllowPublic (-allow-public) to use it")

// checkLoopback returns an error unless host:port is on loopback. The only host name
// that it accepts is localhost: others depend on name resolution.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s: %w", address, ErrPublic)
	}
	return nil
}
