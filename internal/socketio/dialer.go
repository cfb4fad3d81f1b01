package socketio

import "github.com/agentruntime/agentruntime/runtime/httpclient"

// Socket is a [Client], or what stands in for one in a test.
type Socket interface {
	Open()
	Events() <-chan Event
	Emit(name string, args ...any) error
	EmitWithAck(name string, acknowledged func(Args), args ...any) error
	ID() string
	SetAuth(auth any) error
	Reconnect()
	Close() error
}

// Dialer opens sockets in place of [NewClient]. In tests, what does a session's requests
// may be one.
type Dialer interface {
	Dial(url string, o ClientOptions) (Socket, error)
}

// Dial makes a socket, which does nothing before Open.
type Dial = func(url string, o ClientOptions) (Socket, error)

// DialerOf returns the Dial method of network, what a session's requests are done with, if
// it has one, and otherwise one that makes a [Client] over h.
func DialerOf(network any, h httpclient.Client) Dial {
	if d, ok := network.(Dialer); ok {
		return d.Dial
	}
	return func(url string, o ClientOptions) (Socket, error) {
		if network == nil {
			o.HTTPClient = h
		}
		client, err := NewClient(url, o)
		if err != nil {
			return nil, err // not a nil *Client in an interface
		}
		return client, nil
	}
}
