package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
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

// ErrNoIntellect means that an agent's intellect no longer exists.
var ErrNoIntellect = fmt.Errorf("the agent's intellect: %w", ErrNotFound)

// Agents returns the partner's agents in the order in which they were made, without
// their profiles.
func (s *Store) Agents(ctx context.Context, partnerID int64) ([]Agent, error) {
	records, _, err := AgentRecords(s).List(ctx, partnerID, Query{})
	list := make([]Agent, len(records))
	for i, r := range records {
		list[i] = agentOf(&r)
	}
	return list, err
}

// Agent returns the partner's agent with that id, with everything it refers to.
func (s *Store) Agent(ctx context.Context, partnerID int64, id string) (Agent, error) {
	record, err := AgentRecords(s).Get(ctx, partnerID, id)
	if err != nil {
		return Agent{}, err
	}
	intellect, err := Intellects(s).Get(ctx, partnerID, strconv.FormatInt(record.Body.Intellect.ID, 10))
	if errors.Is(err, ErrNotFound) {
		err = ErrNoIntellect
	}
	if err != nil {
		return Agent{}, err
	}
	return s.resolve(ctx, &record, &intellect)
}

// AgentByConfig returns an agent with the given intellect: the oldest one, or, if there is
// none, one made from the intellect alone.
func (s *Store) AgentByConfig(ctx context.Context, partnerID, configID int64) (Agent, error) {
	intellect, err := Intellects(s).Get(ctx, partnerID, strconv.FormatInt(configID, 10))
	if err != nil {
		return Agent{}, err
	}
	record, err := one(s.read.QueryRowContext(ctx,
		`SELECT `+objectColumns+` FROM objects WHERE kind = 'agent' AND partner_id = ? AND json_extract(body, '$.intellect.id') = ?
		 ORDER BY seq LIMIT 1`, partnerID, configID), scanRecord[AgentRecord])
	if errors.Is(err, ErrNotFound) {
		record, err = Record[AgentRecord]{ID: DefaultAgentID, PartnerID: partnerID}, nil
		record.Body.DisplayName, record.Body.Intellect.ID = intellect.Body.Name, configID
	}
	if err != nil {
		return Agent{}, err
	}
	return s.resolve(ctx, &record, &intellect)
}

// AgentByWidget returns the agent of a widget, without its profile. The widget id alone
// determines the partner, because startWidgetSession has no other parameter.
func (s *Store) AgentByWidget(ctx context.Context, widgetID string) (Agent, error) {
	record, err := one(s.read.QueryRowContext(ctx,
		`SELECT `+objectColumns+` FROM objects WHERE kind = 'agent' AND json_extract(body, '$.widgetId') = ?`, widgetID),
		scanRecord[AgentRecord])
	return agentOf(&record), err
}

// agentOf is an agent without what it refers to.
func agentOf(r *Record[AgentRecord]) Agent {
	return Agent{
		ID: r.ID, PartnerID: r.PartnerID, Name: cmp.Or(r.Body.Name, r.Body.DisplayName), ConfigID: r.Body.Intellect.ID, WidgetID: r.Body.WidgetID,
		Profile: Profile{DisplayName: r.Body.DisplayName},
	}
}

// resolve assembles an agent from its parts. Parts that no longer exist are left out.
func (s *Store) resolve(ctx context.Context, r *Record[AgentRecord], intellect *Record[Intellect]) (Agent, error) {
	agent, in := agentOf(r), &intellect.Body
	avatars, err := Avatars(s).Usable(ctx, r.PartnerID, r.Body.AvatarIDs)
	if err != nil {
		return agent, err
	}
	tools, err := ToolRecords(s).Usable(ctx, r.PartnerID, in.ToolIDs)
	if err != nil {
		return agent, err
	}
	startTools, err := ToolRecords(s).Usable(ctx, r.PartnerID, in.ThreadStartTools)
	if err != nil {
		return agent, err
	}
	skills, err := s.skillsOf(ctx, r.PartnerID, in.SkillIDs)
	if err != nil {
		return agent, err
	}
	knowledge, err := s.usableKnowledge(ctx, r.PartnerID, in.KnowledgeIDs, in.LinkedCategories())
	if err != nil {
		return agent, err
	}
	agent.AvatarIDs = r.Body.AvatarIDs
	agent.WidgetConfig, agent.EmbedConfig = r.Body.WidgetConfig, r.Body.EmbedConfig
	agent.Profile = Profile{
		Intellect: *in, DisplayName: r.Body.DisplayName, Opening: DefaultOpening,
		ScreenShare: r.Body.ScreenShare.Enabled, AudioMode: len(avatars) == 0 && r.ID != DefaultAgentID,
		Tools: defined(tools), StartTools: defined(startTools), Skills: skills, Servers: named(in.MCPServers),
		MaxConversation: time.Duration(r.Body.MaxConversationLength) * time.Second,
	}
	agent.Profile.KnowledgeIDs = knowledge
	brain := in.Brain()
	agent.Profile.Turns = TurnLimits{brain.PerMinute, brain.PerHour}
	agent.Profile.Anonymous = TurnLimits{brain.AnonymousPerMinute, brain.AnonymousPerHour}
	if brain.Model != "" && (in.Model == nil || in.Model.ModelID == "") {
		model := ModelConfiguration{}
		if in.Model != nil {
			model = *in.Model
		}
		model.ModelID = brain.Model
		agent.Profile.Model = &model
	}
	if in.OpeningPhrase != nil {
		agent.Profile.Opening = *in.OpeningPhrase
	}
	if len(avatars) > 0 {
		avatar := &avatars[0]
		if agent.Profile.Avatar, err = s.appearance(ctx, avatar); err != nil {
			return agent, err
		}
		if phrase := avatar.Body.OpeningPhrase; in.OpeningPhrase == nil && phrase != "" {
			agent.Profile.Opening = phrase
		}
	}
	if r.Body.SpeechLanguage != "" {
		agent.Profile.Language = r.Body.SpeechLanguage
	}
	return agent, nil
}

// appearance assembles how an avatar looks and sounds.
func (s *Store) appearance(ctx context.Context, r *Record[Avatar]) (*AvatarProfile, error) {
	p := &AvatarProfile{ID: r.ID, Name: r.Body.Name, VoiceID: r.Body.Voice.ID}
	if speed := r.Body.Voice.Speed; speed != nil {
		p.Speed = *speed
	}
	ids := []string{r.Body.Voice.ID, ""}
	switch {
	case r.Body.Visual != nil:
		ids[1] = r.Body.Visual.ID
		motion, err := r.Body.Visual.Motion()
		if err != nil { // it was stored by a version that did not check it
			motion = Motion{}
		}
		p.Speaking, p.NonSpeaking = motion.Speaking, motion.NonSpeaking
	case r.Body.Face != nil:
		ids[1] = r.Body.Face.ID
	}
	items, err := Catalog(s).Usable(ctx, r.PartnerID, ids)
	looks := map[string]string{}
	for _, item := range items {
		if item.ID == p.VoiceID {
			voice := item.Body.Texts("voice")
			p.VoiceName, p.VoiceLanguage = voice["name"], voice["language"]
		} else {
			looks = item.Body.Texts("visual")
		}
	}
	p.Face = NearestFace(looks)
	return p, err
}

// named returns servers in the order of their names.
func named(servers map[string]MCPServer) (list []MCPServer) {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		server := servers[name]
		server.Name = name
		list = append(list, server)
	}
	return list
}

func defined(tools []Record[Tool]) []ToolDef {
	var list []ToolDef
	for _, t := range tools {
		schema, err := t.Body.Config.Schema()
		if err != nil { // the API refuses such a tool
			continue
		}
		list = append(list, ToolDef{Name: t.Body.Name, ToolConfig: t.Body.Config, Parameters: schema})
	}
	return list
}

func (s *Store) skillsOf(ctx context.Context, partnerID int64, refs []SkillRef) ([]AttachedSkill, error) {
	conditions, ids := map[string]SkillRef{}, []string{}
	for _, ref := range refs {
		conditions[ref.ID] = ref
		ids = append(ids, ref.ID)
	}
	found, err := Skills(s).Usable(ctx, partnerID, ids)
	var list []AttachedSkill
	for _, r := range found {
		list = append(list, AttachedSkill{r.Body, conditions[r.ID]})
	}
	return list, err
}

// build stores an agent with its parts: its tools, an intellect with the id configID, and an avatar
// unless the agent is only a voice.
func (s *Store) build(ctx context.Context, tx *sql.Tx, partnerID, configID int64, a builtIn) error {
	for _, tool := range a.tools {
		r, err := ToolRecords(s).insert(ctx, tx, partnerID, "", tool)
		if err != nil {
			return fmt.Errorf("tool %s: %w", tool.Name, err)
		}
		a.intellect.ToolIDs = append(a.intellect.ToolIDs, r.ID)
	}
	if _, err := Intellects(s).insert(ctx, tx, partnerID, strconv.FormatInt(configID, 10), a.intellect); err != nil {
		return fmt.Errorf("intellect: %w", err)
	}
	record := AgentRecord{AgentFields: NewAgent(), Name: a.name, WidgetID: a.name} // a page may have the id of the widget in its HTML
	record.DisplayName, record.Intellect, record.ScreenShare.Enabled = a.intellect.Name, IntellectRef{OwnIntellect, configID}, a.screenShare
	if !a.voiceOnly {
		avatar, err := Avatars(s).insert(ctx, tx, partnerID, "", Avatar{
			Name: a.intellect.Name, Voice: AvatarVoice{ID: presetVoice}, Visual: &Visual{ID: presetVisual},
		})
		if err != nil {
			return fmt.Errorf("avatar: %w", err)
		}
		record.AvatarIDs = append(record.AvatarIDs, avatar.ID)
	}
	_, err := AgentRecords(s).insert(ctx, tx, partnerID, "", record)
	return err
}

// AddPartner stores a partner, without agents.
func (s *Store) AddPartner(ctx context.Context, p Partner) error {
	_, err := s.write.ExecContext(ctx, `INSERT INTO partners (id, secret) VALUES (?, ?)`, p.ID, p.Secret)
	return err
}
