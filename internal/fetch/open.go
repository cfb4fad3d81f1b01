package fetch

import "github.com/agentruntime/agentruntime/runtime/httpclient"

// Network does requests and starts those in the background.
type Network interface {
	Client
	Sender
}

// Open returns what does the requests of an option HTTPClient, and the function that
// closes it: an HTTPClient, or the client that [As] was called with.
func Open(h httpclient.Client) (n Network, free func()) {
	c := Carried(h)
	if n, ok := c.(Network); ok {
		return n, func() {}
	}
	t := over(h)
	if c == nil {
		return t, t.Close
	}
	return struct {
		Client
		Sender
	}{c, t}, t.Close
}
