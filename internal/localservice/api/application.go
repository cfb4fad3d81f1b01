package api

import (
	"encoding/json"
	"errors"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
)

func (s *server) applicationRoutes(mux routes) {
	mux.Handle("POST /v1/application/resolveWidgetId", s.route(admins, s.agents().one(s.resolveWidgetID)))
	mux.Handle("POST /v1/application/appInit", s.route(anyone, s.appInit))
}

// resolveWidgetID returns the widget of an agent.
func (s *server) resolveWidgetID(c *call, agentID string) (any, error) {
	agent, err := store.AgentRecords(s.Store).Get(c.ctx(), c.claims.PartnerID, agentID)
	return map[string]string{"widgetId": agent.Body.WidgetID}, err
}

// appInitReply is what a page needs before it can connect (protocol §1.4).
type appInitReply struct {
	PartnerID int64  `json:"partnerId"`
	KS        string `json:"ks"`
	Hosts
	Avatars      []avatar        `json:"avatars"`
	WidgetConfig json.RawMessage `json:"widgetConfig,omitempty"`
	EmbedConfig  json.RawMessage `json:"embedConfig,omitempty"`
}

// avatar is what a page shows until the live video arrives.
type avatar struct {
	ID              string `json:"id"`
	PreviewImageURL string `json:"previewImageUrl"`
	LoadingVideoURL string `json:"loadingVideoUrl"`
	ObjectType      string `json:"objectType"`
}

// appInit exchanges a widget token, or a visitor's agent token, for one that can
// converse, and returns the hosts to connect to. The agent is that of the token; the
// body is not read.
func (s *server) appInit(c *call) (any, error) {
	kind := c.claims.Kind()
	if (kind != token.Widget && kind != token.Agent) || c.claims.AgentID() == "" {
		return nil, exception("INVALID_KS", "appInit needs a widget token, or a token with an agent id")
	}
	agent, err := s.Store.Agent(c.ctx(), c.claims.PartnerID, c.claims.AgentID())
	switch {
	case errors.Is(err, store.ErrNoIntellect):
		return nil, exception("AGENT_PARTNER_CONFIG_NOT_FOUND", "AGENT_PARTNER_CONFIG_NOT_FOUND")
	case errors.Is(err, store.ErrNotFound):
		return nil, exception("AGENT_NOT_FOUND", "AGENT_NOT_FOUND")
	}
	if err != nil {
		return nil, err
	}
	if id := c.claims.ConfigID(); id != 0 && id != agent.ConfigID {
		return nil, exception("AGENT_PARTNER_CONFIG_GENIE_ID_MISMATCH", "AGENT_PARTNER_CONFIG_GENIE_ID_MISMATCH")
	}
	hosts, err := s.Hosts()
	if err != nil {
		return nil, err
	}
	ks, err := s.Tokens.Bind(c.ctx(), c.claims, agent.ConfigID)
	if err != nil {
		return nil, err
	}
	previews, err := s.avatarPreviews(c, agent.AvatarIDs)
	return appInitReply{
		PartnerID: agent.PartnerID, KS: ks, Hosts: hosts, Avatars: previews, WidgetConfig: agent.WidgetConfig, EmbedConfig: agent.EmbedConfig,
	}, err
}
