package main

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/example/shared"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/pageserver"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

//go:embed index.html main.js style.css icon.svg
var files embed.FS

// maxBody bounds the body of a request of the page, in bytes; most of it is a document of knowledge.
const maxBody = 4 << 20

// studio handles the page's requests.
type studio struct {
	client  *management.Client
	address func(path string) string // of an example page
}

func newHandler(client *management.Client, address func(path string) string) http.Handler {
	s := &studio{client, address}
	mux := http.NewServeMux()
	all := []string{"."} // that was embedded
	mux.Handle("/", &pageserver.Files{FS: files, Paths: all})
	mux.Handle("/shared/", http.StripPrefix("/shared", &pageserver.Files{FS: shared.Files, Paths: all}))
	mux.Handle("GET /api/pages", answer(s.pages))
	mux.Handle("GET /api/catalog", answer(s.catalog))
	mux.Handle("GET /api/agents", answer(s.agents))
	mux.Handle("POST /api/agents", answer(s.create))
	mux.Handle("GET /api/agents/{id}", answer(s.details))
	mux.Handle("PATCH /api/agents/{id}", answer(s.update))
	mux.Handle("POST /api/opening", answer(s.opening))
	mux.Handle("DELETE /api/agents/{id}", answer(s.remove))
	mux.Handle("GET /api/agents/{id}/threads", answer(s.threads))
	mux.Handle("GET /api/threads/{id}", answer(s.thread))
	return onlyOwnPage(mux)
}

// onlyOwnPage refuses requests that pages of other sites cause: those to a host name that
// is not loopback's (DNS rebinding), and those from another origin.
func onlyOwnPage(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return pageserver.Hosts{}.Only(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src http: https: data:; base-uri 'none'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-cache")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	}))
}

// answer writes what a step returns as JSON, or its error in words.
func answer(step func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply, err := step(r)
		status := http.StatusOK
		if err != nil {
			refused := inWords(err)
			reply, status = refused, refused.status
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(reply) //nolint:errcheck // fails only when the page is gone
	})
}

// pages returns the example pages on which a visitor can talk to an agent.
func (s *studio) pages(*http.Request) (any, error) {
	type link struct {
		Name    string `json:"name"`
		Address string `json:"address"`
	}
	links := make([]link, len(pages))
	for i, p := range pages {
		links[i] = link{p.name, s.address(p.path)}
	}
	return map[string]any{"pages": links}, nil
}

// choice is a face or a voice that an agent may have.
type choice struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Image       string `json:"image,omitempty"`
}

func (s *studio) catalog(r *http.Request) (any, error) {
	faces, err := s.faces(r.Context())
	if err != nil {
		return nil, err
	}
	voices := []choice{}
	for item, err := range s.client.Catalog.List(r.Context(), management.CatalogFilter{Type: management.CatalogVoice}) {
		if err != nil {
			return nil, err
		}
		if v := item.Attributes.Voice; v != nil {
			voices = append(voices, choice{ID: item.ID, Name: v.Name, Description: v.Description})
		}
	}
	return map[string]any{"faces": faces, "voices": voices}, nil
}

func (s *studio) faces(ctx context.Context) ([]choice, error) {
	faces := []choice{}
	for item, err := range s.client.Catalog.List(ctx, management.CatalogFilter{Type: management.CatalogVisual}) {
		if err != nil {
			return nil, err
		}
		if v := item.Attributes.Visual; v != nil {
			faces = append(faces, choice{ID: item.ID, Name: v.Name, Image: item.ImageURL})
		}
	}
	return faces, nil
}

// agent is an agent as the page shows it.
type agent struct {
	AgentID   string `json:"agentId"`
	Name      string `json:"name"`
	Opening   string `json:"opening"` // as visitors hear it; "" if the visitor begins
	Image     string `json:"image,omitempty"`
	Page      string `json:"page"`
	Protected bool   `json:"protected"`
}

func (s *studio) agents(r *http.Request) (any, error) {
	ctx := r.Context()
	faces, err := s.faces(ctx)
	if err != nil {
		return nil, err
	}
	images := map[string]string{} // by the visual
	for _, f := range faces {
		images[f.ID] = f.Image
	}
	visuals := map[string]string{} // by the avatar
	for avatar, err := range s.client.Avatars.List(ctx) {
		if err != nil {
			return nil, err
		}
		if avatar.Visual != nil {
			visuals[avatar.ID] = avatar.Visual.ID
		}
	}
	openings := map[int64]string{} // by the intellect
	for i, err := range s.client.Intellects.List(ctx) {
		if err != nil {
			return nil, err
		}
		openings[i.ID] = heard(i.OpeningPhrase)
	}
	agents := []agent{}
	for a, err := range s.client.Agents.List(ctx, management.AgentFilter{OrderBy: "-createdAt"}) {
		if err != nil {
			return nil, err
		}
		shown := s.view(r, a)
		shown.Opening = openings[a.Intellect.ID]
		if len(a.AvatarIDs) > 0 {
			shown.Image = images[visuals[a.AvatarIDs[0]]]
		}
		agents = append(agents, shown)
	}
	return map[string]any{"agents": agents}, nil
}

// heard is an opening phrase as a visitor of whom nothing is known hears it: the service
// replaces its variables.
func heard(template string) string {
	switch template {
	case management.SilentOpening:
		return ""
	case "":
		return "The usual greeting of the service."
	}
	preview, err := management.PreviewPrompt(template, management.PreviewValues{Context: management.PromptContext{Spoken: true}})
	if err != nil {
		return template
	}
	return preview.Text
}

// opening returns how a template of an opening phrase is heard.
func (s *studio) opening(r *http.Request) (any, error) {
	var body struct{ Template string }
	if err := read(r, &body); err != nil {
		return nil, err
	}
	return map[string]string{"heard": heard(body.Template)}, nil
}

func (s *studio) view(r *http.Request, a *management.Agent) agent {
	// The page of the agent has a link back to this one.
	query := url.Values{"agent": {a.ID}, "studio": {r.Host}}
	return agent{
		AgentID: a.ID, Name: a.DisplayName, Page: s.address("../avatar/") + "?" + query.Encode(),
		Protected: management.MatchProtectedTag(a.AdminTags) != "",
	}
}

// read decodes the body of a request of the page.
func read(r *http.Request, into any) error {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		return fault.New(fault.BadRequest, "the form can't be read").Wrap(err)
	}
	return nil
}

// document is a file of knowledge, and newTool a tool that the page runs.
type (
	document struct{ Name, Text string }
	newTool  struct{ Name, Description string }
)

// draft is an agent to be made.
type draft struct {
	Name, FaceID, VoiceID, Opening, Directive string
	Knowledge                                 *document
	Tool                                      *newTool
}

func noName() error { return fault.New(fault.BadRequest, "DisplayName: the agent needs a name") }

// create makes an agent and its parts. When a step fails, the parts that were made before
// it are deleted.
func (s *studio) create(r *http.Request) (_ any, err error) {
	var d draft
	if err := read(r, &d); err != nil {
		return nil, err
	}
	if strings.TrimSpace(d.Name) == "" {
		return nil, noName()
	}
	ctx, c := r.Context(), s.client
	var made parts
	defer func() { err = s.discardAfter(ctx, err, made) }()
	fields := management.IntellectFields{BaseDirective: &d.Directive}
	d.Opening = cmp.Or(d.Opening, management.SilentOpening)
	fields.OpeningPhrase = &d.Opening
	if d.Knowledge != nil {
		if made.knowledge, err = s.addKnowledge(ctx, d.Name, *d.Knowledge); err != nil {
			return nil, err
		}
		fields.KnowledgeIDs = made.knowledge
	}
	if d.Tool != nil {
		if made.tools, err = s.addTool(ctx, *d.Tool); err != nil {
			return nil, err
		}
		fields.ToolIDs = made.tools
	}
	intellect, err := c.Intellects.Add(ctx, fields)
	if err != nil {
		return nil, err
	}
	made.intellect = intellect.ID
	avatar, err := c.Avatars.Create(ctx, management.AvatarInput{
		Voice: management.AvatarVoice{ID: d.VoiceID}, Visual: &management.AvatarVisual{ID: d.FaceID}, Name: d.Name,
	})
	if err != nil {
		return nil, err
	}
	made.avatars = []string{avatar.ID}
	a, err := c.Agents.Create(ctx, management.AgentInput{
		DisplayName: d.Name, Intellect: management.IntellectRef{ID: intellect.ID}, AvatarIDs: made.avatars,
	})
	if err != nil {
		return nil, err
	}
	return s.view(r, a), nil
}

// addKnowledge makes a record that has a document, and returns its id also when the
// document is refused.
func (s *studio) addKnowledge(ctx context.Context, name string, d document) ([]int64, error) {
	record, err := s.client.Knowledge.Add(ctx, name)
	if err != nil {
		return nil, err
	}
	_, err = s.client.Knowledge.AddSource(ctx, record.ID, management.FileSource(d.Name, d.Text))
	return []int64{record.ID}, err
}

func (s *studio) addTool(ctx context.Context, t newTool) ([]string, error) {
	tool, err := s.client.Tools.Add(ctx, t.Name, management.ClientTool(t.Description))
	if err != nil {
		if errors.Is(err, fault.Conflict) {
			err = fault.New(fault.Conflict, "the name of a tool must be one that no other tool has").Wrap(err)
		}
		return nil, err
	}
	return []string{tool.ID}, nil
}

// cleanup bounds the deletion of the parts that were made before a failed step.
const cleanup = 10 * time.Second

// parts are the ids of the records of which an agent consists.
type parts struct {
	avatars   []string
	intellect int64
	tools     []string
	knowledge []int64
}

// discardAfter deletes the parts that were made before a step failed, if one did, and returns
// its error.
func (s *studio) discardAfter(ctx context.Context, failed error, made parts) error {
	if failed == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	return errors.Join(failed, s.discard(ctx, made))
}

// discard deletes parts, except tools and knowledge that another agent uses too.
func (s *studio) discard(ctx context.Context, p parts) error {
	c := s.client
	var errs []error
	for _, id := range p.avatars {
		errs = append(errs, unlessDone(c.Avatars.Delete(ctx, id, management.ConfirmPermanent)))
	}
	if p.intellect != 0 {
		errs = append(errs, unlessDone(c.Intellects.Delete(ctx, p.intellect, management.ConfirmPermanent)))
	}
	for _, id := range p.tools {
		errs = append(errs, unlessDone(c.Tools.Delete(ctx, id, management.ConfirmPermanent)))
	}
	for _, id := range p.knowledge {
		errs = append(errs, unlessDone(c.Knowledge.Delete(ctx, id, management.ConfirmPermanent)))
	}
	return errors.Join(errs...)
}

// unlessDone returns the error of a deletion, unless the part must stay or is not there, as the
// service's own documents are to an account.
func unlessDone(err error) error {
	if errors.Is(err, fault.ToolInUse) || errors.Is(err, fault.KnowledgeInUse) || management.IsNotFound(err) {
		return nil
	}
	return err
}

// remove deletes an agent, and its parts that no other agent has.
func (s *studio) remove(r *http.Request) (any, error) {
	ctx, id := r.Context(), r.PathValue("id")
	a, err := s.client.Agents.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	p := parts{avatars: a.AvatarIDs, intellect: a.Intellect.ID}
	if p.intellect != 0 {
		i, err := s.client.Intellects.Get(ctx, p.intellect)
		if err != nil && !management.IsNotFound(err) {
			return nil, err
		}
		if i != nil {
			p.tools, p.knowledge = i.ToolIDs, i.KnowledgeIDs
		}
	}
	for other, err := range s.client.Agents.List(ctx, management.AgentFilter{}) {
		if err != nil {
			return nil, err
		}
		if other.ID == id {
			continue
		}
		p.avatars = slices.DeleteFunc(p.avatars, func(avatar string) bool { return slices.Contains(other.AvatarIDs, avatar) })
		if other.Intellect.ID == p.intellect {
			p.intellect, p.tools, p.knowledge = 0, nil, nil
		}
	}
	if err := s.client.Agents.Delete(ctx, id, management.ConfirmPermanent); err != nil {
		return nil, err
	}
	return struct{}{}, s.discard(ctx, p)
}

// threads returns the conversations with an agent, the newest first.
func (s *studio) threads(r *http.Request) (any, error) {
	type thread struct {
		ID        string          `json:"id"`
		Title     string          `json:"title"`
		CreatedAt management.Time `json:"createdAt"`
	}
	threads := []thread{}
	filter := management.ThreadFilter{AgentID: r.PathValue("id"), OrderBy: "-createdAt"}
	for t, err := range s.client.Threads.List(r.Context(), filter) {
		if err != nil {
			return nil, err
		}
		if threads = append(threads, thread{t.ID, t.Title, t.CreatedAt}); len(threads) == maxThreads {
			break
		}
	}
	return map[string]any{"threads": threads}, nil
}

// maxThreads is how many conversations the page lists.
const maxThreads = 100

// line is one message of a conversation.
type line struct {
	By      string `json:"by"`
	Text    string `json:"text"`
	Rating  string `json:"rating,omitempty"`
	Comment string `json:"comment,omitempty"`
}

// thread returns a conversation: its messages with their ratings, and its summary.
func (s *studio) thread(r *http.Request) (any, error) {
	ctx, id := r.Context(), r.PathValue("id")
	t, err := s.client.Threads.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	lines := []line{}
	for m, err := range s.client.Messages.List(ctx, management.MessageFilter{ThreadID: id}) {
		if err != nil {
			return nil, err
		}
		by := "Agent"
		if m.Type == "human" {
			by = "Visitor"
		}
		l := line{By: by, Text: m.Text(), Comment: m.Comment}
		if m.IsPositive != nil {
			l.Rating = map[bool]string{true: "good", false: "bad"}[*m.IsPositive]
		}
		if l.Text != "" {
			lines = append(lines, l)
		}
	}
	summary, _ := t.Metadata.Analysis["summary"].(string)
	return map[string]any{"lines": lines, "summary": summary}, nil
}
