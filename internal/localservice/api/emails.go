package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// maxEmail is how long the body of an email may be, in characters.
const maxEmail = 200_000

// noEmail is why nothing of an email has an effect.
const noEmail = "this service sends no e-mail; thread_metadata.emails of a conversation has the templates that would have been used"

// emailView is an email template as clients see it.
type emailView struct {
	ID string `json:"id"`
	store.EmailTemplate
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

func viewEmail(r *store.Record[store.EmailTemplate]) emailView {
	return emailView{r.ID, r.Body, r.CreatedAt, r.UpdatedAt}
}

// emailRoutes adds the routes of the messaging API, which is on the agent host here.
func (s *server) emailRoutes(mux *http.ServeMux) {
	s.manageAgentHost(mux, "/v1/email-template/add", withBody(func(c *call, body fields) (any, error) {
		if err := body.need("appGuid", "name", "subject", "body", "from", "language"); err != nil {
			return nil, err
		}
		template, err := setEmail(store.EmailTemplate{}, body)
		if err != nil {
			return nil, err
		}
		r, err := s.Store.EmailTemplates().Create(c.ctx(), c.claims.PartnerID, template)
		reply, err := viewed(r, err, viewEmail)
		return withoutEffect(reply, err, noEmail)
	}))
	s.manageAgentHost(mux, "/v1/email-template/update", withBody(func(c *call, body fields) (any, error) {
		var id string
		if err := body.take("id", &id); err != nil {
			return nil, err
		}
		r, err := s.Store.EmailTemplates().Update(c.ctx(), c.claims.PartnerID, id, func(t *store.EmailTemplate) (err error) {
			*t, err = setEmail(*t, body)
			return err
		})
		reply, err := viewed(r, err, viewEmail)
		return withoutEffect(reply, err, noEmail)
	}))
	s.manageAgentHost(mux, "/v1/email-template/list", withBody(func(c *call, body listQuery) (any, error) {
		q, err := statusQuery(&body, "statusEqual", "appGuidEqual", "nameEqual")
		if err != nil {
			return nil, err
		}
		list, total, err := s.Store.EmailTemplates().List(c.ctx(), c.claims.PartnerID, q)
		return listed(list, total, err, viewEmail)
	}))
	s.manageAgentHost(mux, "/v1/email-template/get", withID(func(c *call, id string) (any, error) {
		r, err := s.Store.EmailTemplates().Get(c.ctx(), c.claims.PartnerID, id)
		return viewed(r, err, viewEmail)
	}))
	s.manageAgentHost(mux, "/v1/email-template/delete", withID(func(c *call, id string) (any, error) {
		return idRequest{id}, s.Store.EmailTemplates().Delete(c.ctx(), c.claims.PartnerID, id)
	}))
}

func setEmail(old store.EmailTemplate, body fields) (store.EmailTemplate, error) {
	t, err := overlay(old, store.EmailTemplate{}, body)
	if err != nil {
		return t, err
	}
	if t.Status == "" {
		t.Status = store.StatusActive
	}
	for key, value := range map[string]string{"appGuid": t.AppGUID, "name": t.Name, "subject": t.Subject, "from": t.From, "language": t.Language} {
		if err := checkName(key, value); err != nil {
			return t, err
		}
	}
	if strings.TrimSpace(t.Body) == "" || utf8.RuneCountInString(t.Body) > maxEmail {
		return t, invalid("value_error", fmt.Sprintf("The body must have 1 to %d characters", maxEmail), "body")
	}
	return t, oneOf("status", t.Status, store.StatusActive, store.StatusDisabled)
}
