package api

import (
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

func (s *server) followupRoutes(mux routes) {
	mux.Handle("POST /followup/get-suggested-questions", s.route(talkers, s.suggestedQuestions))
	s.manage(mux, "/followup/list", withBody(s.followupList))
}

// suggestedQuestions returns the agent's starters, [] when it has none.
func (s *server) suggestedQuestions(c *call) (any, error) {
	who, err := s.Dialogue.Caller(c.ctx(), c.claims)
	if err != nil {
		return nil, err
	}
	return append([]string{}, who.Agent.Profile.Starters...), nil
}

// followupList lists the follow-up questions that answers have offered.
func (s *server) followupList(c *call, body listQuery) (any, error) {
	page, err := body.Pager.page(threadPageSize)
	if err != nil {
		return nil, err
	}
	var want store.FollowupFilter
	if err := readFilter(body.Filter, "GenieListQuestionFilter", conditions{
		"threadIdEquals": &want.ThreadID, "messageIdEquals": &want.MessageID, "genieIdEquals": &want.ConfigID,
		"createdAtGreaterThanOrEqual": &want.CreatedFrom, "createdAtLessThanOrEqual": &want.CreatedTo,
	}); err != nil {
		return nil, err
	}
	list, total, err := s.Store.Followups(c.ctx(), c.scope(), want, page)
	return listReply[store.Followup]{total, list}, err
}
