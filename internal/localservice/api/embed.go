package api

import (
	"cmp"
	"fmt"
	"html"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// embedStyles are the types of an embed script (management-api.md, F.3), each with the
// style of the element that it adds to a page.
var embedStyles = map[string]string{
	"contained": "display: block; width: 100%; height: 100%; min-height: 24rem",
	"page":      "display: block; position: fixed; inset: 0",
	"floater":   "display: block; position: fixed; right: 1rem; bottom: 1rem; width: 22rem; height: 32rem; z-index: 2147483000",
}

// embedReply is the reply of getEmbedScript.
type embedReply struct {
	ObjectType string   `json:"objectType"`
	HTML       string   `json:"html"`
	Meta       metaView `json:"_meta,omitzero"`
}

// agentEmbed returns HTML that shows an agent in a page of a site: the element
// agent-avatar with the agent's widget, and the script that defines the element.
func (s *server) agentEmbed(c *call, body struct {
	AgentID string `json:"agentId"`
	Type    string `json:"embedType"`
},
) (any, error) {
	style, ok := embedStyles[body.Type]
	if !ok {
		return nil, invalid("enum", "Input should be one of: contained, page, floater", "embedType")
	}
	if body.AgentID == "" {
		return nil, missing("agentId")
	}
	return s.agents().known(func() (any, error) {
		agent, err := store.AgentRecords(s.Store).Get(c.ctx(), c.claims.PartnerID, body.AgentID)
		if err != nil {
			return nil, err
		}
		modes := "face text"
		if len(agent.Body.AvatarIDs) == 0 {
			modes = "text"
		}
		reply := embedReply{ObjectType: "AgentEmbedScript"}
		site := html.EscapeString(s.Site())
		reply.HTML = fmt.Sprintf(`<script type="module" src="%s"></script>
<agent-avatar widget-id="%s" agentic-url="%s/v1" genie-url="%s" ovp-url="%s%s" modes="%s" style="%s"></agent-avatar>
`, html.EscapeString(cmp.Or(s.ElementURL, elementFile)), html.EscapeString(agent.Body.WidgetID), site, site, site, SessionPrefix, modes, style)
		if s.ElementURL == "" {
			reply.Meta.NoEffect = []string{"this service serves no pages; replace " + elementFile + " by the address of the npm package's dist/element.js"}
		}
		return reply, nil
	})
}

// elementFile is the script of an embed script when the service does not serve it.
const elementFile = "element.js"
