package api

import (
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// followupView is a question that an answer has offered.
type followupView struct {
	ID        string    `json:"id"`
	Question  string    `json:"question"`
	ThreadID  string    `json:"thread_id"`
	MessageID string    `json:"message_id"`
	GenieID   string    `json:"genie_id"`
	CreatedAt time.Time `json:"created_at"`
}

func viewFollowup(f store.Followup) followupView {
	return followupView{f.ID, f.Question, f.ThreadID, f.MessageID, strconv.FormatInt(f.ConfigID, 10), f.CreatedAt}
}

// followupList lists the follow-up questions that answers have offered.
func (s *server) followupList(c *call, body listRequest) (any, error) {
	page, err := body.Pager.page(threadPageSize)
	if err != nil {
		return nil, err
	}
	f := newFilter(body.Filter, "GenieListQuestionFilter")
	want := store.FollowupFilter{
		ThreadID: f.text("threadIdEquals"), MessageID: f.text("messageIdEquals"), ConfigID: f.number("genieIdEquals"),
		CreatedFrom: f.time("createdAtGreaterThanOrEqual"), CreatedTo: f.time("createdAtLessThanOrEqual"),
	}
	if err := f.done(); err != nil {
		return nil, err
	}
	list, total, err := s.Store.Followups(c.ctx(), c.scope(), want, page)
	return viewAll(list, total, viewFollowup), err
}
