//go:build !js

package socketio

import (
	"context"
	"net/url"
)

// NewLocalClient is [NewClient] for servers of this process. Each attempt to connect calls
// reach, which stands for the network: it returns the server that answers, or why none does,
// and may wait until ctx ends. There are no sockets of the system, so that many clients can be
// simulated in virtual time, where nothing can wait for real ones.
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

// localBuffer is how many messages are under way between a local client and its server, each way.
const localBuffer = 64
