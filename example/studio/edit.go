package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// details are what the form shows of an agent.
type details struct {
	agent
	HasFace   bool   `json:"hasFace"` // false for an agent that is only heard
	FaceID    string `json:"faceId"`
	VoiceID   string `json:"voiceId"`
	Template  string `json:"template"` // of the opening line
	Directive string `json:"directive"`
	Knowledge []part `json:"knowledge"`
	Tools     []part `json:"tools"`
	// Others are the names of agents that have the same instructions or the same face, and
	// change with this one.
	Others []string `json:"others"`
}

// part is a document or a tool of an agent.
type part struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// whole is an agent with the records of which it consists.
type whole struct {
	agent     *management.Agent
	intellect *management.Intellect
	avatar    *management.Avatar          // nil for an agent that is only heard
	knowledge *management.KnowledgeRecord // nil if there is none
}

func (s *studio) load(ctx context.Context, id string) (w whole, err error) {
	c := s.client
	if w.agent, err = c.Agents.Get(ctx, id); err != nil {
		return w, err
	}
	if w.intellect, err = c.Intellects.Get(ctx, w.agent.Intellect.ID); err != nil {
		if management.IsNotFound(err) {
			err = fault.New(fault.IntellectNotFound, "").Wrap(err)
		}
		return w, err
	}
	if len(w.agent.AvatarIDs) > 0 {
		if w.avatar, err = c.Avatars.Get(ctx, w.agent.AvatarIDs[0]); err != nil {
			return w, err
		}
	}
	if len(w.intellect.KnowledgeIDs) > 0 {
		w.knowledge, err = c.Knowledge.Get(ctx, w.intellect.KnowledgeIDs[0])
	}
	return w, err
}

// details returns an agent for the form.
func (s *studio) details(r *http.Request) (any, error) {
	ctx := r.Context()
	w, err := s.load(ctx, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	d := details{agent: s.view(r, w.agent), Directive: w.intellect.BaseDirective, Template: w.intellect.OpeningPhrase}
	d.Knowledge, d.Tools, d.Others = []part{}, []part{}, []string{}
	d.Opening = heard(d.Template)
	if d.Template == management.SilentOpening {
		d.Template = ""
	}
	if w.avatar != nil {
		d.HasFace, d.VoiceID = true, w.avatar.Voice.ID
		if w.avatar.Visual != nil {
			d.FaceID = w.avatar.Visual.ID
		}
	}
	switch {
	case w.knowledge == nil:
	case ofService(w.knowledge):
		d.Knowledge = append(d.Knowledge, part{ID: servicePart, Name: w.knowledge.Name, Description: "Documents of the service"})
	default:
		for n, source := range w.knowledge.Config.Sources {
			d.Knowledge = append(d.Knowledge, part{ID: sourceID(n, source), Name: source.Name})
		}
	}
	for _, id := range w.intellect.ToolIDs {
		tool, err := s.client.Tools.Get(ctx, id)
		if management.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		d.Tools = append(d.Tools, part{tool.ID, tool.Name, tool.Config.Description})
	}
	for other, err := range s.client.Agents.List(ctx, management.AgentFilter{}) {
		if err != nil {
			return nil, err
		}
		shared := other.Intellect.ID == w.agent.Intellect.ID || w.avatar != nil && slices.Contains(other.AvatarIDs, w.avatar.ID)
		if shared && other.ID != w.agent.ID {
			d.Others = append(d.Others, other.DisplayName)
		}
	}
	return d, nil
}

// servicePart is the id of the part that is a whole record of the service.
const servicePart = "service"

// ofService reports whether a record is the service's: an account may use it, but neither
// read nor change its texts.
func ofService(record *management.KnowledgeRecord) bool {
	return slices.ContainsFunc(record.Config.Sources, func(s management.Source) bool { return s.Content == "" })
}

// sourceID identifies a document of a record: by the service's id of it, or by its place
// and name, if the service has none yet.
func sourceID(n int, s management.Source) string {
	return cmp.Or(s.EntryID, strconv.Itoa(n)+" "+s.Name)
}

// change is what a person changed in the form; nil fields stay as they are.
type change struct {
	Name, FaceID, VoiceID, Opening, Directive *string
	Knowledge                                 *document
	Tool                                      *newTool
	// RemoveKnowledge and RemoveTools are ids of parts.
	RemoveKnowledge, RemoveTools []string
}

// update changes an agent. What the service is most likely to refuse is written first: after
// a refusal of the tool or of the instructions, everything is as it was.
func (s *studio) update(r *http.Request) (_ any, err error) {
	var ch change
	if err := read(r, &ch); err != nil {
		return nil, err
	}
	if ch.Name != nil && strings.TrimSpace(*ch.Name) == "" {
		return nil, noName()
	}
	ctx, c := r.Context(), s.client
	w, err := s.load(ctx, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if w.avatar == nil && (ch.FaceID != nil || ch.VoiceID != nil) {
		return nil, fault.New(fault.BadRequest, "the agent is only heard: it has no face and no voice that could be changed")
	}
	if err := s.changeIntellect(ctx, w, &ch); err != nil {
		return nil, err
	}
	if w.avatar != nil && (ch.FaceID != nil || ch.VoiceID != nil || ch.Name != nil) {
		patch := management.AvatarPatch{Name: ch.Name}
		if ch.FaceID != nil {
			patch.Visual = &management.AvatarVisual{ID: *ch.FaceID}
		}
		if ch.VoiceID != nil {
			patch.Voice = &management.AvatarVoice{ID: *ch.VoiceID, Speed: w.avatar.Voice.Speed}
		}
		if _, err := c.Avatars.Update(ctx, w.avatar.ID, patch); err != nil {
			return nil, err
		}
	}
	if ch.Name != nil {
		if w.agent, err = c.Agents.Update(ctx, w.agent.ID, management.AgentPatch{DisplayName: ch.Name}); err != nil {
			return nil, err
		}
	}
	return s.view(r, w.agent), nil
}

// changeIntellect changes the instructions, the opening line, the knowledge and the tools.
func (s *studio) changeIntellect(ctx context.Context, w whole, ch *change) (err error) {
	c := s.client
	var made parts
	linked := false // what was made belongs to the intellect
	defer func() {
		if !linked {
			err = s.discardAfter(ctx, err, made)
		}
	}()
	fields := management.IntellectFields{BaseDirective: ch.Directive, OpeningPhrase: ch.Opening}
	if ch.Opening != nil && *ch.Opening == "" {
		fields.OpeningPhrase = new(management.SilentOpening)
	}
	record := w.knowledge // that stays
	if record != nil && ofService(record) {
		if slices.Contains(ch.RemoveKnowledge, servicePart) {
			record, fields.KnowledgeIDs = nil, []int64{}
		} else if ch.Knowledge != nil {
			return fault.New(fault.BadRequest, "knowledge: the agent can't have documents beside those of the service; remove these first")
		}
	}
	if ch.Tool != nil {
		if made.tools, err = s.addTool(ctx, *ch.Tool); err != nil {
			return err
		}
	}
	if ch.Knowledge != nil && record == nil {
		if made.knowledge, err = s.addKnowledge(ctx, w.agent.DisplayName, *ch.Knowledge); err != nil {
			return err
		}
		fields.KnowledgeIDs = made.knowledge
	}
	var removed []string // tools of this agent
	if len(made.tools)+len(ch.RemoveTools) > 0 {
		fields.ToolIDs = append([]string{}, made.tools...)
		for _, id := range w.intellect.ToolIDs {
			if slices.Contains(ch.RemoveTools, id) {
				removed = append(removed, id)
			} else {
				fields.ToolIDs = append(fields.ToolIDs, id)
			}
		}
	}
	if fields.BaseDirective != nil || fields.OpeningPhrase != nil || fields.KnowledgeIDs != nil || fields.ToolIDs != nil {
		if _, err := c.Intellects.Update(ctx, w.intellect.ID, fields); err != nil {
			return err
		}
	}
	linked = true
	if record != nil {
		if err := s.changeKnowledge(ctx, record, ch); err != nil {
			return err
		}
	}
	var errs []error
	for _, id := range removed {
		errs = append(errs, unlessDone(c.Tools.Delete(ctx, id, management.ConfirmPermanent)))
	}
	return errors.Join(errs...)
}

// changeKnowledge adds and removes documents of the agent's record.
func (s *studio) changeKnowledge(ctx context.Context, record *management.KnowledgeRecord, ch *change) error {
	if ch.Knowledge != nil {
		if _, err := s.client.Knowledge.AddSource(ctx, record.ID, management.FileSource(ch.Knowledge.Name, ch.Knowledge.Text)); err != nil {
			return err
		}
	}
	for n, source := range record.Config.Sources {
		if !slices.Contains(ch.RemoveKnowledge, sourceID(n, source)) {
			continue
		}
		if _, err := s.client.Knowledge.RemoveSource(ctx, record.ID, source); err != nil {
			return err
		}
	}
	return nil
}
