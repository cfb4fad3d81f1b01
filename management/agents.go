package management

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// Time is a time of a record as the service wrote it; its method Time converts it to a
// time.Time.
type Time = visitor.Time

// protectedTag matches the admin tags prod, production, keep, do-not-delete and live, and tags
// with them (management-api.md, F.3): prod between hyphens and underscores, production
// anywhere, keep and live as words, do-not-delete also without hyphens.
var protectedTag = regexp.MustCompile(`(?i)(?:^|[-_])prod(?:[-_]|$)|production|\bkeep\b|\blive\b|do-?not-?delete`)

// MatchProtectedTag returns the first of an agent's admin tags that marks it as being in
// production, "" for none. Deleting it fails with protected_resource without [AllowProtected]
// (service.md "Agent"). The tags are prod, production, keep, do-not-delete and live, in any
// case, also as parts of others.
func MatchProtectedTag(tags []string) string {
	if n := slices.IndexFunc(tags, protectedTag.MatchString); n >= 0 {
		return tags[n]
	}
	return ""
}

// Agents builds agents, each a combination of avatars and an intellect (service.md
// "Agents"). All calls need an admin token.
type Agents struct{ Records[Agent, string] }

// Agent is an agent's record.
type Agent struct {
	ID          string       `json:"agentId"`
	DisplayName string       `json:"displayName"`
	Intellect   IntellectRef `json:"intellect"`
	// AvatarIDs are ids of 24 hexadecimal digits.
	AvatarIDs   []string    `json:"avatarIds"`
	AdminTags   []string    `json:"adminTags"`
	ScreenShare ScreenShare `json:"screenShare"`
	// MaxConversationLength is how long a live conversation may be, in seconds; 0 if the
	// record has none.
	MaxConversationLength int `json:"maxConversationLength"`
	// WidgetConfig and EmbedConfig are JSON objects for pages, which get them from
	// appInit; empty if none is set.
	WidgetConfig json.RawMessage `json:"widgetConfig"`
	EmbedConfig  json.RawMessage `json:"embedConfig"`
	CreatedAt    Time            `json:"createdAt"`
	UpdatedAt    Time            `json:"updatedAt"`
	Receipt
}

// IntellectGenie is the type of an intellect of this service, in [IntellectRef].
const IntellectGenie = "genie"

// IntellectRef is the intellect of an agent: the id of one, or the fields of a new one, which
// the service makes with the agent (management-api.md, F.3).
type IntellectRef struct {
	// Type is [IntellectGenie], the default.
	Type string
	// ID is the number of an intellect, 0 if there is none.
	ID int64
	// Fields are those of a new intellect, in place of an ID; a record has none.
	Fields *IntellectFields
}

// MarshalJSON writes {intellectType, id}, or {intellectType} with the fields.
func (r IntellectRef) MarshalJSON() ([]byte, error) {
	kind := cmp.Or(r.Type, IntellectGenie)
	if r.Fields != nil {
		return json.Marshal(struct {
			Kind string `json:"intellectType"`
			intellectBody
		}{kind, newIntellect(*r.Fields)})
	}
	return json.Marshal(struct {
		Kind string `json:"intellectType"`
		ID   int64  `json:"id"`
	}{kind, r.ID})
}

// UnmarshalJSON reads a reference, whose number is its configId or its id. One that is not
// a number becomes 0, no intellect (service.md "Authentication" rule 4).
func (r *IntellectRef) UnmarshalJSON(data []byte) error {
	var ref struct {
		Type     string          `json:"intellectType"`
		ConfigID json.RawMessage `json:"configId"`
		ID       json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(data, &ref); err != nil {
		return err
	}
	r.Type = ref.Type
	for _, number := range []json.RawMessage{ref.ConfigID, ref.ID} {
		if json.Unmarshal(number, &r.ID) == nil && r.ID > 0 {
			return nil
		}
	}
	r.ID = 0
	return nil
}

func (r IntellectRef) check() error {
	switch {
	case r.Type != "" && r.Type != IntellectGenie:
		return badRequest("the Type of an Intellect must be " + IntellectGenie)
	case r.Fields != nil && r.ID != 0:
		return badRequest("an Intellect must have an ID or Fields, not both")
	case r.Fields != nil:
		return r.Fields.check()
	case r.ID <= 0:
		return badRequest("an agent needs an Intellect; its ID must be a positive number")
	}
	return nil
}

// ScreenShare is the permission of visitors to show their screen to the agent.
type ScreenShare struct {
	Enabled bool `json:"enabled"`
}

// AgentInput is a new agent. DisplayName and Intellect are required.
type AgentInput struct {
	DisplayName string       `json:"displayName"`
	Intellect   IntellectRef `json:"intellect"`
	// AvatarIDs may be empty, for an agent without a picture.
	AvatarIDs   []string     `json:"avatarIds"`
	AdminTags   []string     `json:"adminTags,omitempty"`
	ScreenShare *ScreenShare `json:"screenShare,omitempty"`
	// MaxConversationLength is how long a live conversation may be, in seconds: 1 to 3600; 0
	// is the service's default, 540.
	MaxConversationLength int `json:"maxConversationLength,omitempty"`
	// WidgetConfig and EmbedConfig are JSON objects for pages. The title of
	// WidgetConfig's initialPage may have 30 characters.
	WidgetConfig json.RawMessage `json:"widgetConfig,omitempty"`
	EmbedConfig  json.RawMessage `json:"embedConfig,omitempty"`
}

// AgentPatch describes a change of an agent; nil fields stay as they are. Empty AdminTags
// remove all tags.
type AgentPatch struct {
	DisplayName *string       `json:"displayName,omitempty"`
	Intellect   *IntellectRef `json:"intellect,omitempty"`
	AvatarIDs   []string      `json:"avatarIds,omitzero"`
	AdminTags   []string      `json:"adminTags,omitzero"`
	ScreenShare *ScreenShare  `json:"screenShare,omitempty"`
	// MaxConversationLength is in seconds, 1 to 3600.
	MaxConversationLength *int `json:"maxConversationLength,omitempty"`
	// WidgetConfig and EmbedConfig are JSON objects for pages; null removes them.
	WidgetConfig json.RawMessage `json:"widgetConfig,omitempty"`
	EmbedConfig  json.RawMessage `json:"embedConfig,omitempty"`
}

// AgentFilter selects agents that meet all conditions; a zero field is no condition.
type AgentFilter struct {
	AgentID string `json:"agentId,omitempty"`
	// AdminTagsIn selects agents with one of these tags or more, AdminTagsNotIn those
	// with none of them.
	AdminTagsIn    []string `json:"adminTagsIn,omitempty"`
	AdminTagsNotIn []string `json:"adminTagsNotIn,omitempty"`
	// SearchValue is a part of the name or of the id; case is ignored.
	SearchValue string `json:"searchValue,omitempty"`
	// OrderBy is +createdAt, -createdAt, +updatedAt or -updatedAt; default the
	// service's.
	OrderBy string `json:"-"`
}

var agents = collection[Agent, string]{at: appinit.Agentic, path: "/agent", create: "create", what: "an agent", key: "agentId"}

var agentEmbed = endpoint{at: appinit.Agentic, path: "/agent/getEmbedScript", again: harmless}

// orders are the values of orderBy.
var orders = []string{"+createdAt", "-createdAt", "+updatedAt", "-updatedAt"}

func checkOrder(by string) error { return oneOfOrEmpty("OrderBy", by, orders) }

func (in *AgentInput) check() error {
	length := cmp.Or(in.MaxConversationLength, maxConversation) // 0 is the service's default
	return cmp.Or(in.Intellect.check(), required("DisplayName", in.DisplayName), checkAvatarIDs(in.AvatarIDs), checkLength(length), checkWidgetTitle(in.WidgetConfig))
}

// Limits of an agent (management-api.md, F.3).
const (
	minConversation = 1
	maxConversation = 3600 // seconds
	maxWidgetTitle  = 30   // characters
)

func checkLength(seconds int) error {
	if seconds < minConversation || seconds > maxConversation {
		return badRequest("MaxConversationLength must be from 1 to 3600 seconds")
	}
	return nil
}

func checkWidgetTitle(config json.RawMessage) error {
	var widget struct {
		InitialPage struct {
			Title string `json:"title"`
		} `json:"initialPage"`
	}
	if json.Unmarshal(config, &widget) == nil && utf8.RuneCountInString(widget.InitialPage.Title) > maxWidgetTitle {
		return badRequest("the title of WidgetConfig's initialPage must have at most 30 characters")
	}
	return nil
}

func (p *AgentPatch) check() error {
	return cmp.Or(
		ifSet(p.DisplayName, nonEmpty("DisplayName")), ifSet(p.Intellect, IntellectRef.check), checkAvatarIDs(p.AvatarIDs),
		ifSet(p.MaxConversationLength, checkLength), checkWidgetTitle(p.WidgetConfig),
	)
}

func checkAvatarIDs(ids []string) error {
	for _, id := range ids {
		if err := checkAvatarID(id); err != nil {
			return err
		}
	}
	return nil
}

// Create makes an agent. Errors: bad_request for missing fields and for an avatar id that
// is not 24 hexadecimal digits.
func (a Agents) Create(ctx context.Context, in AgentInput, opts ...Option) (*Agent, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	a.hideSecrets(in.Intellect)
	in.AvatarIDs = orEmpty(in.AvatarIDs)
	return a.add(ctx, in, opts)
}

// hideSecrets keeps the secrets of a new intellect out of errors.
func (a Agents) hideSecrets(r IntellectRef) {
	if r.Fields != nil {
		a.c.Intellects.hide(r.Fields.Secrets)
	}
}

// List iterates over the agents that f selects. Error: bad_request for an unknown order.
func (a Agents) List(ctx context.Context, f AgentFilter, opts ...Option) iter.Seq2[*Agent, error] {
	return a.list(ctx, query{Filter: f, OrderBy: f.OrderBy}, checkOrder(f.OrderBy), opts)
}

// Update changes an agent and returns it. Errors: those of Create and Get, and
// bad_request for an empty patch.
func (a Agents) Update(ctx context.Context, id string, p AgentPatch) (*Agent, error) {
	if p.Intellect != nil {
		a.hideSecrets(*p.Intellect)
	}
	return a.update(ctx, id, p, p.check())
}

// Delete deletes an agent, not its avatars and its intellect. It reads the agent first and
// refuses one that has a protected tag ([MatchProtectedTag]).
//
// Options: [ConfirmPermanent] (confirmation_required without it), [AllowProtected] (or
// protected_resource), [SkipProtectedCheck] to read nothing. Other errors are those of
// Get: an agent that can't be read is not deleted.
func (a Agents) Delete(ctx context.Context, id string, opts ...Option) error {
	s := settingsOf(opts)
	if err := cmp.Or(required("the agent id", id), s.confirm("an agent")); err != nil {
		return err
	}
	if !s.has(SkipProtectedCheck) {
		agent, err := a.Get(ctx, id)
		switch {
		case errors.Is(err, fault.NotFound), errors.Is(err, fault.AgentNotFound): // the delete reports it
		case err != nil:
			return err
		case !s.has(AllowProtected):
			if err := agent.protected(); err != nil {
				return err
			}
		}
	}
	return a.Records.Delete(ctx, id, opts...)
}

// protected refuses an agent that is in production.
func (a *Agent) protected() error {
	if tag := MatchProtectedTag(a.AdminTags); tag != "" {
		return fault.New(fault.ProtectedResource, "the agent has the admin tag "+tag+"; pass AllowProtected to delete it nevertheless")
	}
	return nil
}

// EmbedTypes are the types of [Agents.EmbedScript]: within a part of a page, as a whole page,
// and above a corner of a page.
var EmbedTypes = []string{"contained", "page", "floater"}

// EmbedScript returns HTML that shows the agent in a page of a site. Errors: bad_request for
// a type that is not one of [EmbedTypes], and those of Get.
func (a Agents) EmbedScript(ctx context.Context, id, embedType string) (string, error) {
	if err := cmp.Or(required("the agent id", id), oneOf("the embed type", embedType, EmbedTypes)); err != nil {
		return "", err
	}
	var raw json.RawMessage
	if err := a.c.post(ctx, agentEmbed, map[string]string{"agentId": id, "embedType": embedType}, &raw); err != nil {
		return "", err
	}
	var reply struct {
		HTML string `json:"html"`
	}
	if json.Unmarshal(raw, &reply.HTML) != nil && json.Unmarshal(raw, &reply) != nil || reply.HTML == "" { // a text, or an object
		return "", fault.New(fault.InvalidResponse, "the reply has no html").At(agentEmbed.path)
	}
	return reply.HTML, nil
}
