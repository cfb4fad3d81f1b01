package avatar

import "github.com/agentruntime/agentruntime/runtime/session"

// spread keeps very many sessions from doing the same at the same moment. The session's sticky
// id is the seed, so each has places of its own, which can be computed again.
type spread struct {
	socket   *session.Spread // attempts to connect it again
	recovery *session.Spread // the end of the window, and the next rebuild
	capacity *session.Spread // questions for a free avatar
	media    *session.Spread // tries of a subscription
}

func newSpread(stickyID string) spread {
	return spread{
		socket:   session.NewSpread(stickyID, "socket"),
		recovery: session.NewSpread(stickyID, "recovery"),
		capacity: session.NewSpread(stickyID, "capacity"),
		media:    session.NewSpread(stickyID, "media"),
	}
}
