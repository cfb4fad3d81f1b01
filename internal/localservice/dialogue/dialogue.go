package dialogue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/directory"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

var (
	// ErrNoPermission means that the thread belongs to another user, or does not
	// exist; callers get the same error for both. Its text is on the wire
	// (protocol §9.6).
	//lint:ignore ST1005 clients match this text, capital letter and all
	ErrNoPermission = errors.New("No permission for thread")

	// ErrNoAgent means that the token names an agent or a configuration that the
	// partner does not have.
	ErrNoAgent = errors.New("no such agent")

	// ErrBusy means that too many turns are queued for the same thread, or that the
	// caller has made too many requests or begun too many threads.
	ErrBusy = errors.New("too many requests, turns or threads, or too many turns wait for this thread; try again later")

	// ErrNotStored means that a question, or the thread for it, could not be stored: the
	// disk is full, for example, or the store has too much to do. The client may ask again.
	ErrNotStored = errors.New("the question could not be stored; try again later")

	// ErrAborted is the cancellation cause of a turn that [Service.Abort] ended.
	ErrAborted = errors.New("turn aborted")

	// ErrClientGone is the cancellation cause of a turn whose client has closed its
	// connection; the transport sets it.
	ErrClientGone = errors.New("client gone")
)

// Config is what a [Service] works with. All but Users and the limits is required.
type Config struct {
	Store  *store.Store
	Brain  brain.Brain
	Logger *slog.Logger

	// Tools runs the tools that run on the service.
	Tools Runner

	// Users are attributes of users, for sys__user_obj.
	Users directory.Users

	// Site returns the origin of the service's own pages, for links to them.
	Site func() string

	// Threads limits the new threads and the copies of messages in an hour, and Turns the
	// questions, of which each 1,000 bytes count like one.
	Threads, Turns quota.Limit
	// Work is how many milliseconds of work clients may cause.
	Work *quota.Pace

	// Observe is called for each turn: whether it is of a live session, the time to
	// its first segment, 0 without one, its whole time and its error.
	Observe func(live bool, first, took time.Duration, err error)
}

// Runner runs tools on the service; [toolrun.Runner] implements it.
type Runner interface {
	// Run waits for the result, a JSON object; Start does not.
	Run(ctx context.Context, t *store.ToolDef, args json.RawMessage, vars map[string]any) json.RawMessage
	Start(t *store.ToolDef, args json.RawMessage, vars map[string]any)
	// Remote returns the tools of MCP servers, under names that are not among names.
	Remote(ctx context.Context, servers []store.MCPServer, names []string, vars map[string]any) []store.ToolDef
}

// Service runs the turns. All methods may be called from any goroutine.
type Service struct {
	cfg Config

	// mu guards the registries below. Turns themselves share nothing.
	mu       sync.Mutex
	queues   map[string]*turnQueue // by thread id, while a turn runs or waits
	calls    calls
	consents consents

	threads, turns quota.Rate // these and counts have locks of their own
	counts         turnCounts
}

// New returns a Service.
func New(c Config) *Service {
	return &Service{
		cfg: c, threads: quota.Rate{Limit: c.Threads, Window: time.Hour}, turns: quota.Rate{Limit: c.Turns, Window: time.Hour},
		queues: map[string]*turnQueue{}, calls: calls{byID: map[string]*pending{}}, consents: consents{byState: map[string]*consent{}},
	}
}

// Caller is a valid token and its agent.
type Caller struct {
	Claims token.Claims
	Agent  store.Agent
	User   directory.Attributes // of the token's user; nil without any
	KS     string               // the token itself, for templates of api tools; must not be shown or logged
}

// Scope returns which records of the store the caller may access.
func (c *Caller) Scope() store.Scope {
	return ScopeOf(c.Claims)
}

// client returns which client a request from an address counts for.
func (c *Caller) client(from netip.Addr) quota.Client {
	return quota.Client{Token: c.Claims.Client(), Addr: from}
}

// ScopeOf returns which records of the store the bearer of a token may access.
func ScopeOf(c token.Claims) store.Scope {
	return store.Scope{
		PartnerID: c.PartnerID, Admin: c.Kind() == token.Admin && !c.Entitled(),
		UserID: c.UserID, TokenID: c.ID, Widget: c.Kind() == token.Widget,
	}
}

// label is the agent id that the caller's threads carry: that of the token, not
// of the persona (service.md, Authentication rule 4).
func (c *Caller) label() string {
	if id := c.Claims.AgentID(); id != "" {
		return id
	}
	return store.DefaultAgentID
}

// Caller returns the agent of a token: the token's configuration selects the persona;
// without one it is the default persona. An agent that the token names must exist
// too.
func (s *Service) Caller(ctx context.Context, c token.Claims) (Caller, error) {
	agent := store.Agent{ID: store.DefaultAgentID, PartnerID: c.PartnerID, Profile: store.DefaultProfile()}
	var named store.Agent
	var err error
	if id := c.AgentID(); id != "" {
		named, err = s.cfg.Store.Agent(ctx, c.PartnerID, id)
	}
	switch id := c.ConfigID(); {
	case err != nil || id == 0:
	case named.ConfigID == id: // of the agents with this configuration, the one with the right avatar
		agent = named
	default:
		agent, err = s.cfg.Store.AgentByConfig(ctx, c.PartnerID, id)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = ErrNoAgent
	}
	return Caller{Claims: c, Agent: agent, User: s.cfg.Users[c.UserID]}, err
}

// Context is what a client reports about the place of the conversation.
type Context struct {
	Vars        map[string]any // request variables; see [CheckVars]
	ContextID   string
	ContextType string
	From        netip.Addr // the client
	Avatar      bool       // a live avatar is attached
	ScreenShare bool       // the user shares a screen with it
}

// MayBegin reports whether a client may store another thread, or a copy of a message.
func (s *Service) MayBegin(by quota.Client) bool { return s.threads.Take(by, 1) }

// Open returns the thread with that id, or a new one when threadID is "".
func (s *Service) Open(ctx context.Context, who Caller, threadID string, c Context) (store.Thread, error) {
	if threadID != "" {
		t, err := s.cfg.Store.Thread(ctx, who.Scope(), threadID)
		if errors.Is(err, store.ErrNotFound) {
			err = ErrNoPermission
		}
		return t, err
	}
	if !s.MayBegin(who.client(c.From)) {
		return store.Thread{}, ErrBusy
	}
	t := store.Thread{
		ID: uuid.NewString(), PartnerID: who.Claims.PartnerID, UserID: who.Claims.UserID,
		TokenID: who.Claims.ID, Widget: who.Claims.Kind() == token.Widget, AgentID: who.label(), ConfigID: who.Agent.ConfigID, ContextID: c.ContextID,
		Vars: map[string]any{}, ThreadMetadata: store.ThreadMetadata{Analysis: map[string]any{}},
	}
	if err := s.cfg.Store.CreateThread(ctx, &t); err != nil {
		return t, fmt.Errorf("open thread: %w", notStored(err))
	}
	s.startTools(ctx, who, t, c)
	return t, nil
}

// notStored returns err, marked with [ErrNotStored] unless the request is the reason.
func notStored(err error) error {
	for _, reason := range []error{nil, store.ErrNotFound, store.ErrRepeated, ErrTooManyVars, context.Canceled} {
		if errors.Is(err, reason) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrNotStored, err)
}

// Opening renders the agent's opening phrase for a thread and returns it with the id
// of its message. A phrase that is empty when rendered is replaced by a silent one,
// because an empty text would make the first turn fail (protocol §7.6). The
// first phrase that is said on a thread is stored in it; a session that returns to
// the thread says its phrase again, which is not stored.
func (s *Service) Opening(ctx context.Context, who Caller, t store.Thread, c Context) (phrase, messageID string, err error) {
	if !who.Agent.Profile.AllowClientVariables {
		c.Vars = nil
	}
	messageID = uuid.NewString()
	state, err := s.cfg.Store.ThreadState(ctx, t.ID)
	if err != nil {
		return "", "", fmt.Errorf("read state: %w", err)
	}
	vars := variables(who, t, c, withResults(c.Vars, state.Started), "", messageID, t.UpdatedAt.Equal(t.CreatedAt))
	phrase = brain.Render(who.Agent.Profile.Opening, vars)
	if strings.TrimSpace(phrase) == "" {
		phrase = signaling.SilentOpening
	}
	history, err := s.cfg.Store.History(ctx, t.ID, 1)
	if err != nil || len(history) > 0 || strings.TrimSpace(phrase) == signaling.SilentOpening {
		return phrase, messageID, err
	}
	return phrase, messageID, s.cfg.Store.AddMessage(ctx, &store.Message{
		ID: messageID, ThreadID: t.ID, Role: store.Opening, Parts: []store.Part{spokenPart(phrase, true)},
	})
}

// KeepSpoken replaces the text of an answer by the part of it that was spoken before
// the user interrupted (protocol §7.8); widgets stay. An answer that doesn't
// exist is not an error.
func (s *Service) KeepSpoken(ctx context.Context, who Caller, messageID, text string) error {
	m, err := s.cfg.Store.Message(ctx, who.Scope(), messageID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	parts := []store.Part{spokenPart(text, true)}
	for _, p := range m.Parts {
		if p.Type == widgetPart {
			parts = append(parts, p)
		}
	}
	return s.cfg.Store.SetParts(ctx, messageID, parts)
}
