//go:build !js

package socketio

import (
	"context"
	"net/url"
)

// NewLocalClient is [NewClient] for servers of this process. Each attempt to connect calls
// reach, which simulates the network: it returns the server or the error of the attempt, and
// may block until ctx ends. No system sockets are used, so that many clients can be simulated
// in virtual time (testing/synctest), where real sockets cannot be waited for.
func NewLocalClient(address string, o ClientOptions, reach func(ctx context.Context) (*Server, error)) (*Client, error) {
	o.dial = func(ctx context.Context, address string, _ *ClientOptions) (transport, error) {
		s, err := reach(ctx)
		if err != nil {
			return nil, err
		}
		u, err := url.Parse(address)
		if err != nil {
			return nil, err
		}
		near, far := pipe(localBuffer)
		s.accept(far, Handshake{Query: u.Query()})
		return near, nil
	}
	return NewClient(address, o)
}

// localBuffer is the number of messages in transit between a local client and its server, in each
// direction.
const localBuffer = 64
