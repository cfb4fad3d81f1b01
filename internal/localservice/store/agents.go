package store

import (
	"context"
	"encoding/json"
)

// Partner returns the partner with that id.
func (s *Store) Partner(ctx context.Context, id int64) (Partner, error) {
	return one(s.read.QueryRowContext(ctx, `SELECT id, secret FROM partners WHERE id = ?`, id), scanPartner)
}

// Partners returns all partners.
func (s *Store) Partners(ctx context.Context) ([]Partner, error) {
	return all(ctx, s.read, scanPartner, `SELECT id, secret FROM partners ORDER BY id`)
}

func scanPartner(row scanner) (p Partner, err error) {
	err = row.Scan(&p.ID, &p.Secret)
	return p, err
}

const agentColumns = `id, partner_id, name, config_id, widget_id, profile`

// Agents returns the partner's agents in the order of their configuration ids.
func (s *Store) Agents(ctx context.Context, partnerID int64) ([]Agent, error) {
	return all(ctx, s.read, scanAgent,
		`SELECT `+agentColumns+` FROM agents WHERE partner_id = ? ORDER BY config_id`, partnerID)
}

// Agent returns the partner's agent with that id.
func (s *Store) Agent(ctx context.Context, partnerID int64, id string) (Agent, error) {
	return one(s.read.QueryRowContext(ctx,
		`SELECT `+agentColumns+` FROM agents WHERE partner_id = ? AND id = ?`, partnerID, id), scanAgent)
}

// AgentByConfig returns the partner's agent with that brain configuration.
func (s *Store) AgentByConfig(ctx context.Context, partnerID, configID int64) (Agent, error) {
	return one(s.read.QueryRowContext(ctx,
		`SELECT `+agentColumns+` FROM agents WHERE partner_id = ? AND config_id = ?`, partnerID, configID), scanAgent)
}

// AgentByWidget returns the agent of a widget. A widget id names its partner,
// because startWidgetSession is called with nothing else.
func (s *Store) AgentByWidget(ctx context.Context, widgetID string) (Agent, error) {
	return one(s.read.QueryRowContext(ctx,
		`SELECT `+agentColumns+` FROM agents WHERE widget_id = ?`, widgetID), scanAgent)
}

func putAgent(ctx context.Context, db execer, a Agent) error {
	profile, err := json.Marshal(a.Profile)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx,
		`INSERT INTO agents (`+agentColumns+`) VALUES (?, ?, ?, ?, ?, ?)
		 ON CONFLICT (id) DO UPDATE SET name = excluded.name, config_id = excluded.config_id,
		   widget_id = excluded.widget_id, profile = excluded.profile`,
		a.ID, a.PartnerID, a.Name, a.ConfigID, a.WidgetID, string(profile))
	return err
}

func scanAgent(row scanner) (a Agent, err error) {
	var profile []byte
	if err := row.Scan(&a.ID, &a.PartnerID, &a.Name, &a.ConfigID, &a.WidgetID, &profile); err != nil {
		return a, err
	}
	return a, json.Unmarshal(profile, &a.Profile)
}
