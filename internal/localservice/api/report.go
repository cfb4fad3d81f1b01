package api

import (
	"encoding/csv"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// maxReport is how many messages a report may have. Older clients ask for this many when
// they are not told how many (management-api.md, F.8).
const maxReport = 1000

// reportColumns are the columns of a report. The user's name is that of the directory, if
// there is one. Clients read Thread Id, Question and Feedback reaction
// (management-api.md, F.8).
var reportColumns = []string{
	"Message Id", "Thread Id", "Agent Id", "Genie Id", "User Id", "User Name", "Created At",
	"Question", "Answer Id", "Answer", "Feedback reaction", "Feedback comment",
}

// messageReport writes one line of CSV for each answer, with its question and its
// rating (service.md, Messages). The filter's times and rating apply to the answer.
func (s *server) messageReport(c *call, body listQuery) (any, error) {
	page, err := body.Pager.pageUpTo(maxPageSize, maxReport)
	if err != nil {
		return nil, err
	}
	want, err := messageFilter(body.Filter)
	if err != nil {
		return nil, err
	}
	want.Answers = true
	answers, _, err := s.Store.Messages(c.ctx(), c.scope(), want, page)
	if err != nil {
		return nil, err
	}
	questions, agents, err := s.reportContext(c, answers)
	if err != nil {
		return nil, err
	}
	c.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	c.w.Header().Set("Cache-Control", "no-store")
	out := csv.NewWriter(c.w)
	out.Write(reportColumns) //nolint:errcheck // Flush keeps the error, which means that the client is gone
	for _, a := range answers {
		question := questions[a.ReplyTo]
		positive, comment := "", ""
		if a.Rating != nil {
			positive, comment = strconv.FormatBool(a.Rating.IsPositive), a.Rating.Comment
		}
		out.Write([]string{ //nolint:errcheck // as above
			a.ReplyTo, a.ThreadID, agents[a.ThreadID], strconv.FormatInt(a.ConfigID, 10), a.UserID, s.Users.Name(a.UserID), a.CreatedAt.Format(time.RFC3339),
			question.Text(), a.ID, a.Text(), positive, comment,
		})
	}
	out.Flush()
	return streamed{}, nil
}

// reportContext reads the questions of answers, by their ids, and the agents of their
// threads.
func (s *server) reportContext(c *call, answers []store.Message) (map[string]*store.Message, map[string]string, error) {
	questionIDs, threadIDs := make([]string, len(answers)), make([]string, len(answers))
	for i, a := range answers {
		questionIDs[i], threadIDs[i] = a.ReplyTo, a.ThreadID
	}
	whole := store.Page{Limit: len(answers)}
	list, _, err := s.Store.Messages(c.ctx(), c.scope(), store.MessageFilter{IDs: questionIDs}, whole)
	if err != nil {
		return nil, nil, err
	}
	questions := map[string]*store.Message{}
	for i := range answers {
		questions[answers[i].ReplyTo] = &store.Message{} // for a question that no longer exists
	}
	for i := range list {
		questions[list[i].ID] = &list[i]
	}
	threads, _, err := s.Store.Threads(c.ctx(), c.scope(), store.ThreadFilter{IDs: threadIDs}, whole)
	agents := map[string]string{}
	for _, t := range threads {
		agents[t.ID] = t.AgentID
	}
	return questions, agents, err
}
