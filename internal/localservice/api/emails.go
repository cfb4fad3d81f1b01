package api

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// maxEmail is how long the body of an email may be, in characters.
const maxEmail = 200_000

// noEmail is why nothing of an email has an effect.
const noEmail = "this service sends no e-mail; thread_metadata.emails of a conversation has the templates that would have been used"

// emails are the templates of the messaging API, which is on the agent host here.
func (s *server) emails() *resource[store.EmailTemplate] {
	return &resource[store.EmailTemplate]{
		records: store.EmailTemplates(s.Store), view: viewAgentHost[store.EmailTemplate], set: setEmail,
		needs:    []string{"appGuid", "name", "subject", "body", "from", "language"},
		query:    byFields("statusEqual", "appGuidEqual", "nameEqual"),
		noEffect: func(*store.EmailTemplate, fields) []string { return []string{noEmail} },
	}
}

func setEmail(old store.EmailTemplate, body fields) (store.EmailTemplate, error) {
	t, err := overlay(old, store.EmailTemplate{}, body)
	if err != nil {
		return t, err
	}
	t.Status = cmp.Or(t.Status, store.StatusActive)
	if strings.TrimSpace(t.Body) == "" || utf8.RuneCountInString(t.Body) > maxEmail {
		return t, invalid("value_error", fmt.Sprintf("The body must have 1 to %d characters", maxEmail), "body")
	}
	return t, cmp.Or(
		checkName("appGuid", t.AppGUID), checkName("name", t.Name), checkName("subject", t.Subject), checkName("from", t.From),
		checkName("language", t.Language), oneOf(t.Status, statuses, "status"),
	)
}
