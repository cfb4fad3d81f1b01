package localservice

import (
	"errors"
	"fmt"
	"net"
)

// ErrPublic means that an address can be reached from other machines and that
// nobody allowed it.
var ErrPublic = errors.New("address is not on loopback; allow public addresses to use it")

// checkLoopback returns an error unless host:port is on loopback. A name counts
// when it is localhost: any other could mean anything tomorrow.
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
