package api

import "github.com/agentruntime/agentruntime/internal/localservice/store"

// followupList lists the follow-up questions that answers have offered.
func (s *server) followupList(c *call, body listQuery) (any, error) {
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
	return listReply[store.Followup]{total, list}, err
}
