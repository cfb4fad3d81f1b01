package avatar

import "github.com/agentruntime/agentruntime/runtime/session"

// spread distributes over time what very many sessions would do at the same moment. The seed
// is the session's sticky id, so that each has different times, which can be computed again.
type spread struct {
	socket   *session.Spread // attempts to reconnect the socket
	recovery *session.Spread // the last attempt of the window, and the next rebuild
	capacity *session.Spread // requests for a free avatar
	media    *session.Spread // attempts of a subscription
}

func newSpread(stickyID string) spread {
	return spread{
		socket:   session.NewSpread(stickyID, "socket"),
		recovery: session.NewSpread(stickyID, "recovery"),
		capacity: session.NewSpread(stickyID, "capacity"),
		media:    session.NewSpread(stickyID, "media"),
	}
}
