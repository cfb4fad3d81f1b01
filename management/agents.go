package management

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// Time is a time of a record as the service wrote it; its method Time converts it to a
// time.Time.
type Time = visitor.Time

// ProtectedTags are the admin tags that mark an agent as being in production. Deleting it
// fails with protected_resource without [AllowProtected] (service.md "Agent").
func ProtectedTags() []string {
	return []string{"prod", "production", "keep", "do-not-delete", "live"}
}

// Agents builds agents, each a combination of avatars and an intellect (service.md
// "Agents"). All calls need an admin token.
type Agents struct{ c *Client }

// Agent is an agent's record.
type Agent struct {
	ID          string       `json:"agentId"`
	DisplayName string       `json:"displayName"`
	Intellect   IntellectRef `json:"intellect"`
	// AvatarIDs are ids of 24 hexadecimal digits.
	AvatarIDs   []string    `json:"avatarIds"`
	AdminTags   []string    `json:"adminTags"`
	ScreenShare ScreenShare `json:"screenShare"`
	// WidgetConfig and EmbedConfig are JSON objects for pages, which get them from
	// appInit; empty if none is set.
	WidgetConfig json.RawMessage `json:"widgetConfig"`
	EmbedConfig  json.RawMessage `json:"embedConfig"`
	CreatedAt    Time            `json:"createdAt"`
	UpdatedAt    Time            `json:"updatedAt"`
}

func (a *Agent) hasID() bool { return a.ID != "" }

// IntellectRef names the intellect of an agent.
type IntellectRef struct {
	// ID is the number of an intellect, 0 if there is none.
	ID int64 `json:"id"`
}

// UnmarshalJSON reads a reference. An id that is not a number becomes 0, no intellect
// (service.md "Authentication" rule 4).
func (r *IntellectRef) UnmarshalJSON(data []byte) error {
	var ref struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(data, &ref); err != nil {
		return err
	}
	if json.Unmarshal(ref.ID, &r.ID) != nil || r.ID < 0 {
		r.ID = 0
	}
	return nil
}

// ScreenShare is the permission of visitors to show their screen to the agent.
type ScreenShare struct {
	Enabled bool `json:"enabled"`
}

// AgentInput is a new agent. DisplayName, Intellect and AvatarIDs are required.
type AgentInput struct {
	DisplayName string       `json:"displayName"`
	Intellect   IntellectRef `json:"intellect"`
	AvatarIDs   []string     `json:"avatarIds"`
	AdminTags   []string     `json:"adminTags,omitempty"`
	ScreenShare *ScreenShare `json:"screenShare,omitempty"`
	// WidgetConfig and EmbedConfig are JSON objects for pages.
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

var (
	agentCreate = endpoint{at: appinit.Agentic, path: "/agent/create"}
	agentList   = listing{endpoint: endpoint{at: appinit.Agentic, path: "/agent/list", again: harmless}}
	agentGet    = endpoint{at: appinit.Agentic, path: "/agent/get", again: harmless}
	agentUpdate = endpoint{at: appinit.Agentic, path: "/agent/update", again: harmless}
	agentDelete = endpoint{at: appinit.Agentic, path: "/agent/delete"}
)

// orders are the values of orderBy.
var orders = []string{"+createdAt", "-createdAt", "+updatedAt", "-updatedAt"}

func checkOrder(by string) error {
	if by == "" || slices.Contains(orders, by) {
		return nil
	}
	return badRequest("OrderBy must be one of " + strings.Join(orders, ", "))
}

// agentID is the body of the calls about one agent.
type agentID struct {
	ID string `json:"agentId"`
}

func (in *AgentInput) check() error {
	if in.Intellect.ID <= 0 {
		return badRequest("an agent needs an Intellect; its ID must be a positive number")
	}
	if len(in.AvatarIDs) == 0 {
		return badRequest("an agent needs AvatarIDs")
	}
	return firstError(required("DisplayName", in.DisplayName), checkAvatarIDs(in.AvatarIDs))
}

func (p *AgentPatch) check() error {
	switch {
	case p.DisplayName == nil && p.Intellect == nil && p.AvatarIDs == nil && p.AdminTags == nil && p.ScreenShare == nil &&
		p.WidgetConfig == nil && p.EmbedConfig == nil:
		return badRequest("the patch changes nothing; set at least one field")
	case p.DisplayName != nil && *p.DisplayName == "":
		return badRequest("DisplayName must not be empty")
	case p.Intellect != nil && p.Intellect.ID <= 0:
		return badRequest("the ID of the Intellect must be a positive number")
	case p.AvatarIDs != nil && len(p.AvatarIDs) == 0:
		return badRequest("an agent needs AvatarIDs")
	}
	return checkAvatarIDs(p.AvatarIDs)
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
	return fetchRecord[Agent](ctx, a.c, agentCreate, in, opts...)
}

// Get reads an agent. Errors: agent_not_found or not_found ([IsNotFound]).
func (a Agents) Get(ctx context.Context, id string) (*Agent, error) {
	if err := required("the agent id", id); err != nil {
		return nil, err
	}
	return fetchRecord[Agent](ctx, a.c, agentGet, agentID{id})
}

// List iterates over the agents that f selects. Error: bad_request for an unknown order.
func (a Agents) List(ctx context.Context, f AgentFilter, opts ...Option) iter.Seq2[*Agent, error] {
	return list[Agent](ctx, a.c, agentList, query{Filter: f, OrderBy: f.OrderBy}, checkOrder(f.OrderBy), opts)
}

// Update changes an agent and returns it. Errors: those of Create and Get, and
// bad_request for an empty patch.
func (a Agents) Update(ctx context.Context, id string, p AgentPatch) (*Agent, error) {
	if err := firstError(required("the agent id", id), p.check()); err != nil {
		return nil, err
	}
	return fetchRecord[Agent](ctx, a.c, agentUpdate, struct {
		agentID
		AgentPatch
	}{agentID{id}, p})
}

// Delete deletes an agent, not its avatars and its intellect. It reads the agent first and
// refuses one that has any of [ProtectedTags] (service.md "Agents").
//
// Options: [ConfirmPermanent] (confirmation_required without it), [AllowProtected] (or
// protected_resource), [SkipProtectedCheck] to read nothing. Other errors are those of
// Get: an agent that can't be read is not deleted.
func (a Agents) Delete(ctx context.Context, id string, opts ...Option) error {
	s := settingsOf(opts)
	if err := firstError(required("the agent id", id), s.confirm("an agent")); err != nil {
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
	return a.c.post(ctx, agentDelete, agentID{id}, nil, opts...)
}

// protected refuses an agent that is in production.
func (a *Agent) protected() error {
	for _, tag := range a.AdminTags {
		if slices.Contains(ProtectedTags(), strings.ToLower(tag)) {
			return fault.New(fault.ProtectedResource, "the agent has the admin tag "+tag+"; pass AllowProtected to delete it nevertheless")
		}
	}
	return nil
}
