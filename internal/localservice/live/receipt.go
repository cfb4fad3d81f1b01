package live

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// maxTurnID bounds the id that a client gives to a turn, in bytes; ours send 16.
const maxTurnID = 64

// reply acknowledges an event; it is nil if the client requested no acknowledgement.
type reply func(args ...any) error

// receipt is a typed turn that must be acknowledged when it is stored (choice A22).
type receipt struct {
	id      string // the client's, "" for none
	text    string
	replies []reply // to the turn and to its repetitions
}

// textEntered handles typed text, or the marker that is sent before it (protocol
// §3.6). Partial text is ignored.
func (s *Session) textEntered(t signaling.Text, r reply) {
	text := strings.TrimSpace(t.Text)
	switch {
	case !t.IsFinal && t.IsSpeechStart && text == "":
		s.bargeIn()
	case t.IsFinal && text != "":
		s.typed(t.ClientTurnID, text, r)
	}
}

// typed handles a typed turn. A repetition of an earlier turn, perhaps of one from an
// earlier socket, is dropped and acknowledged together with it.
func (s *Session) typed(id, text string, asks reply) {
	if s.hub.silent.Load() || len(id) > maxTurnID {
		s.userSaid(byTranscript, text)
		return
	}
	r := &receipt{id: id, text: text}
	if asks != nil {
		r.replies = []reply{asks}
	}
	if id != "" {
		if under := s.unstored[id]; under != nil {
			under.replies = append(under.replies, r.replies...)
			return
		}
		there, err := s.cfg.Threads.HasTurn(s.ctx, s.thread.ID, id)
		if err != nil {
			s.log.Warn("could not check whether a turn was repeated", "err", err)
		}
		if there {
			s.settle([]*receipt{r})
			return
		}
		s.unstored[id] = r
	}
	if !s.userSaid(byTranscript, text, r) {
		s.abandon([]*receipt{r})
	}
}

// settle acknowledges turns that are stored.
func (s *Session) settle(receipts []*receipt) {
	for _, r := range receipts {
		for _, reply := range r.replies {
			s.acknowledge(reply)
		}
		r.replies = nil
	}
	s.abandon(receipts)
}

// abandon removes turns that are stored, or never will be: the client may send the
// latter again.
func (s *Session) abandon(receipts []*receipt) {
	for _, r := range receipts {
		if s.unstored[r.id] == r {
			delete(s.unstored, r.id)
		}
	}
}

// typeAgain handles the turns of a question again, each by itself. The question was
// not stored because one of its turns already is: the session of an earlier socket
// stored it a moment before.
func (s *Session) typeAgain(receipts []*receipt) {
	for _, r := range receipts {
		if len(r.replies) == 0 {
			s.typed(r.id, r.text, nil)
		}
		for _, asks := range r.replies {
			s.typed(r.id, r.text, asks)
		}
	}
}

// idsOf returns the ids that the client gave.
func idsOf(receipts []*receipt) []string {
	var ids []string
	for _, r := range receipts {
		if r.id != "" && !slices.Contains(ids, r.id) {
			ids = append(ids, r.id)
		}
	}
	return ids
}
