package management

import (
	"cmp"
	"context"

	"github.com/agentruntime/agentruntime/runtime/appinit"
)

// EmailTemplates manages texts of e-mails (management-api.md, "emailTemplates"). The region
// frp2 has no messaging service: every call fails with region_unavailable there, without a
// request, unless the options have its address. All calls need an admin token.
type EmailTemplates struct{ Records[EmailTemplate, string] }

// EmailTemplate is the text of an e-mail.
type EmailTemplate struct {
	ID string `json:"id"`
	EmailTemplateInput
	Status    string `json:"status,omitempty"`
	CreatedAt Time   `json:"createdAt,omitempty"`
	UpdatedAt Time   `json:"updatedAt,omitempty"`
	Receipt
}

// EmailTemplateInput is a new e-mail template; all six fields are required.
type EmailTemplateInput struct {
	AppGUID  string `json:"appGuid"`
	Name     string `json:"name"`
	Subject  string `json:"subject"`
	Body     string `json:"body"`
	From     string `json:"from"`
	Language string `json:"language"`
}

// EmailTemplatePatch describes a change of an e-mail template; nil fields stay as they are.
type EmailTemplatePatch struct {
	Name     *string `json:"name,omitempty"`
	Subject  *string `json:"subject,omitempty"`
	Body     *string `json:"body,omitempty"`
	From     *string `json:"from,omitempty"`
	Language *string `json:"language,omitempty"`
}

var emails = collection[EmailTemplate, string]{at: appinit.Messaging, path: "/email-template", create: "add", what: "an e-mail template"}

// Create makes an e-mail template. Errors: bad_request for a missing field,
// region_unavailable.
func (e EmailTemplates) Create(ctx context.Context, in EmailTemplateInput, opts ...Option) (*EmailTemplate, error) {
	err := cmp.Or(
		required("AppGUID", in.AppGUID), required("Name", in.Name), required("Subject", in.Subject),
		required("Body", in.Body), required("From", in.From), required("Language", in.Language),
	)
	if err != nil {
		return nil, err
	}
	return e.add(ctx, in, opts)
}

// Update changes an e-mail template and returns it. Errors are those of Create and Get,
// and bad_request for an empty patch.
func (e EmailTemplates) Update(ctx context.Context, id string, p EmailTemplatePatch) (*EmailTemplate, error) {
	return e.update(
		ctx, id, p,
		ifSet(p.Name, nonEmpty("Name")), ifSet(p.Subject, nonEmpty("Subject")), ifSet(p.Body, nonEmpty("Body")),
		ifSet(p.From, nonEmpty("From")), ifSet(p.Language, nonEmpty("Language")),
	)
}
