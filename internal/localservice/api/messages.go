package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// maxComment is how long the comment of a rating may be, in characters.
const maxComment = 8000

// messageView is a message as clients see it. Its content is a list of parts,
// also for the opening (protocol §9.5).
type messageView struct {
	ID         string          `json:"id"`
	ThreadID   string          `json:"thread_id,omitempty"` // of a shared copy: that of the original
	GenieID    string          `json:"genie_id"`
	UserID     string          `json:"user_id"`
	Type       store.Role      `json:"type"`
	Title      string          `json:"title,omitempty"`
	Content    []store.Part    `json:"content"`
	Unfinished bool            `json:"unfinished,omitempty"` // not in the protocol: still being given, or broken off
	IsPositive *bool           `json:"is_positive,omitempty"`
	Comment    string          `json:"comment,omitempty"`
	Feedback   *store.Feedback `json:"feedback,omitempty"` // the whole rating
	CreatedAt  time.Time       `json:"created_at"`
	UpdatedAt  time.Time       `json:"updated_at"`
}

func viewMessage(m store.Message) messageView {
	v := messageView{
		ID: m.ID, ThreadID: cmp.Or(m.ThreadID, m.SharedFrom), GenieID: strconv.FormatInt(m.ConfigID, 10), UserID: m.UserID,
		Type: m.Role, Title: m.Title, Content: append([]store.Part{}, m.Parts...), Unfinished: m.Unfinished,
		CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
	}
	if m.Rating != nil {
		v.Feedback, v.IsPositive, v.Comment = m.Rating, &m.Rating.IsPositive, m.Rating.Comment
	}
	return v
}

func (s *server) messageRoutes(mux routes) {
	mux.Handle("POST /message/list", s.route(owners, withBody(s.messageList)))
	mux.Handle("POST /message/get", s.route(owners, withID(s.messageGet)))
	mux.Handle("POST /message/report", s.route(admins, withBody(s.messageReport)))
	mux.Handle("POST /message/share", s.route(owners, withBody(s.messageShare)))
	mux.Handle("POST /feedback/add", s.route(talkers, withBody(s.addFeedback)))
}

func (s *server) messageList(c *call, body listQuery) (any, error) {
	page, err := body.Pager.page(messagePageSize)
	if err != nil {
		return nil, err
	}
	want, err := messageFilter(body.Filter)
	if err != nil {
		return nil, err
	}
	list, total, err := s.Store.Messages(c.ctx(), c.scope(), want, page)
	return viewAll(list, total, viewMessage), err
}

// messageFilter reads the filter of messages (service.md, Messages).
func messageFilter(raw json.RawMessage) (want store.MessageFilter, err error) {
	var id *string
	var positive *bool
	err = readFilter(raw, "GenieListMessageFilter", conditions{
		"idsIn": &want.IDs, "idEquals": &id, "threadIdEquals": &want.ThreadID, "userIdEquals": &want.UserID, "genieIdEquals": &want.ConfigID,
		"isPositiveIn": &want.Positive, "isPositiveEquals": &positive, "orderBy": &want.OrderBy,
		"createdAtGreaterThanOrEqual": &want.CreatedFrom, "createdAtLessThanOrEqual": &want.CreatedTo,
		"updatedAtGreaterThanOrEqual": &want.UpdatedFrom, "updatedAtLessThanOrEqual": &want.UpdatedTo,
	})
	want.IDs, want.Positive = narrow(want.IDs, id), narrow(want.Positive, positive)
	if err == nil && len(want.Positive) > 2 {
		err = tooMany(2, "filter", "isPositiveIn")
	}
	return want, err
}

func (s *server) messageGet(c *call, id string) (any, error) {
	m, err := s.Store.Message(c.ctx(), c.scope(), id)
	return viewMessage(m), err
}

// messageShare makes a copy that outlives its thread.
func (s *server) messageShare(c *call, body struct {
	ID    string `json:"id"`
	Title string `json:"newTitle"`
},
) (any, error) {
	if body.ID == "" {
		return nil, missing("id")
	}
	if utf8.RuneCountInString(body.Title) > maxTitle {
		return nil, tooLong(maxTitle, "newTitle")
	}
	if !s.Dialogue.MayBegin(c.client()) {
		return nil, dialogue.ErrBusy
	}
	id, err := s.Store.ShareMessage(c.ctx(), c.scope(), body.ID, body.Title)
	return success(map[string]string{"newMessageId": id}), err
}

// feedbackSchema is the version of the body of feedback/add (service.md,
// Versioning).
const feedbackSchema = 1

func (s *server) addFeedback(c *call, body struct {
	SchemaVersion *int `json:"schemaVersion"`
	Data          *struct {
		MessageID  string `json:"message_id"`
		IsPositive *bool  `json:"is_positive"`
		Comment    string `json:"comment"`
	} `json:"data"`
},
) (any, error) {
	switch {
	case body.SchemaVersion == nil:
		return nil, missing("schemaVersion")
	case *body.SchemaVersion != feedbackSchema:
		return nil, invalid("literal_error", fmt.Sprintf("Input should be %d", feedbackSchema), "schemaVersion")
	case body.Data == nil:
		return nil, missing("data")
	case body.Data.MessageID == "":
		return nil, missing("data", "message_id")
	case body.Data.IsPositive == nil:
		return nil, missing("data", "is_positive")
	case utf8.RuneCountInString(body.Data.Comment) > maxComment:
		return nil, tooLong(maxComment, "data", "comment")
	}
	f, err := s.Store.AddFeedback(c.ctx(), c.scope(), store.Feedback{
		MessageID: body.Data.MessageID, IsPositive: *body.Data.IsPositive, Comment: body.Data.Comment,
	})
	return f, err
}
