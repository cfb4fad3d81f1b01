package brain

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

const (
	// maxRounds is how often a model may ask for tools in one turn.
	maxRounds = 8

	// maxAsked is how many tools a model may ask for in one reply, and maxAskedBytes how long
	// their names and arguments may be in all.
	maxAsked      = 64
	maxAskedBytes = 256 << 10

	// chatTimeout bounds one reply of the model.
	chatTimeout = 2 * time.Minute

	// chatPassages is how many passages of the documents a prompt has.
	chatPassages = 4

	// coldest replaces the temperature 0: the library omits a zero, and the endpoint would
	// use its default.
	coldest = 1e-4
)

// Chat asks an OpenAI-compatible chat endpoint. The client tools of the agent are
// offered to the model; their results are passed back to it.
type Chat struct {
	client    *openai.Client
	model     string
	knowledge Searcher
	log       *slog.Logger
}

var _ Brain = (*Chat)(nil)

// NewChat returns a Chat that sends its requests with h. The endpoint needs a BaseURL and a Model;
// knowledge may be nil.
func NewChat(e endpoint.Endpoint, h *http.Client, knowledge Searcher, log *slog.Logger) *Chat {
	return &Chat{client: e.Client(h), model: e.Model, knowledge: knowledge, log: log}
}

// Answer implements [Brain].
func (c *Chat) Answer(ctx context.Context, q *Question, out Sink) error {
	messages, err := c.messages(ctx, q)
	if err != nil {
		return err
	}
	request := openai.ChatCompletionRequest{Model: c.model, Messages: messages, Tools: offered(q)}
	configure(&request, q.Profile.Model)
	asked := len(messages) - 1 // the place of the question
	for range maxRounds {
		reply, err := c.round(ctx, request, out)
		if errors.Is(err, errPictures) {
			request.Messages[asked] = question(q, nil)
			reply, err = c.round(ctx, request, out)
		}
		if err != nil {
			return err
		}
		if len(reply.ToolCalls) == 0 {
			return nil
		}
		request.Messages = append(request.Messages, reply)
		for _, call := range reply.ToolCalls {
			result, err := runTool(ctx, q, call.Function.Name, call.Function.Arguments, out)
			if err != nil {
				return err
			}
			request.Messages = append(request.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, Content: result, ToolCallID: call.ID})
		}
	}
	return &Failure{tooManyTools}
}

const (
	tooManyTools = "The language model used too many tools for one answer. Please ask again."
	tooLongCalls = "The language model asked for a tool with too much text. Please ask again."
)

// round streams one reply of the model: its text is passed on as it arrives, its tool calls
// are put together.
func (c *Chat) round(ctx context.Context, request openai.ChatCompletionRequest, out Sink) (openai.ChatCompletionMessage, error) {
	reply := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant}
	roundCtx, cancel := context.WithTimeout(ctx, chatTimeout)
	defer cancel()
	stream, err := c.client.CreateChatCompletionStream(roundCtx, request)
	if err != nil {
		if shows(request) && refusedPictures(err) {
			c.log.Warn("the chat endpoint refuses a picture: asked again without it", "model", request.Model, "error", endpoint.WithoutBody(err))
			return reply, errPictures
		}
		return reply, c.failed(ctx, err)
	}
	defer stream.Close()
	var text strings.Builder
	asked, finished := 0, false // asked in bytes
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return reply, c.failed(ctx, err)
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		choice := chunk.Choices[0]
		finished = finished || choice.FinishReason != ""
		if reply.ToolCalls, err = join(reply.ToolCalls, choice.Delta.ToolCalls); err != nil {
			return reply, c.failed(ctx, err)
		}
		for _, piece := range choice.Delta.ToolCalls {
			asked += len(piece.ID) + len(piece.Function.Name) + len(piece.Function.Arguments)
		}
		switch {
		case len(reply.ToolCalls) > maxAsked:
			return reply, &Failure{tooManyTools}
		case asked > maxAskedBytes:
			return reply, &Failure{tooLongCalls}
		}
		text.WriteString(choice.Delta.Content)
		if err := out.Say(choice.Delta.Content); err != nil {
			return reply, err
		}
	}
	reply.Content = text.String()
	// A stream that was cut off ends like a complete one, but without a finish reason.
	if !finished {
		return reply, c.failed(ctx, errors.New("the stream broke off"))
	}
	return reply, nil
}

// join appends pieces of tool calls to the calls so far; the index of a piece is that of
// its call.
func join(calls, pieces []openai.ToolCall) ([]openai.ToolCall, error) {
	for _, piece := range pieces {
		if piece.Index == nil || *piece.Index < 0 || *piece.Index > len(calls) {
			return nil, errors.New("the pieces of the tool calls don't fit together")
		}
		i := *piece.Index
		if i == len(calls) {
			calls = append(calls, openai.ToolCall{Type: openai.ToolTypeFunction})
		}
		if piece.ID != "" {
			calls[i].ID = piece.ID
		}
		calls[i].Function.Name += piece.Function.Name
		calls[i].Function.Arguments += piece.Function.Arguments
	}
	return calls, nil
}

// failed logs the error; the user gets a general text.
func (c *Chat) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.log.Error("chat endpoint failed", "error", endpoint.WithoutBody(err))
	return &Failure{"The language model could not be reached."}
}

// messages returns the conversation in the model's format.
func (c *Chat) messages(ctx context.Context, q *Question) ([]openai.ChatCompletionMessage, error) {
	system := q.instructions()
	switch {
	case q.Avatar, q.Experience == avatarOnly:
		system += "\nYour answer is spoken by an avatar: plain sentences, no lists, no Markdown."
	case q.Experience != "":
		system += "\nYour answer is read on a page and may use Markdown. Preferred form of the answer: " + q.Experience + "."
	default:
		system += "\nYour answer is read on a page and may use Markdown."
	}
	if c.knowledge != nil && q.Capabilities.On(UseKnowledge) {
		passages, err := c.knowledge.SearchKnowledge(ctx, q.Profile.KnowledgeIDs, q.Text, chatPassages)
		if err != nil {
			return nil, err
		}
		if len(passages) > 0 {
			system += "\nPassages of the documents that may help:"
		}
		for _, p := range passages {
			system += fmt.Sprintf("\n\n%s, %s\n%s", p.Title, p.Heading, p.Body)
		}
	}
	messages := []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleSystem, Content: system}}
	for _, line := range q.History {
		role := openai.ChatMessageRoleUser
		switch {
		case line.System:
			role = openai.ChatMessageRoleSystem
		case line.Agent:
			role = openai.ChatMessageRoleAssistant
		}
		messages = append(messages, openai.ChatCompletionMessage{Role: role, Content: line.Text})
	}
	return append(messages, question(q, q.pictures())), nil
}

// question returns the user's message, with those pictures. If there are others, the model
// is told that it can't see them.
func question(q *Question, pictures []still) openai.ChatCompletionMessage {
	message := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: q.Text}
	if q.Trigger == TriggerUnheard {
		message.Content = "(The user spoke, but no speech recogniser is configured, so there are no words. Say so.)"
	}
	if len(pictures) == 0 {
		for _, p := range q.pictures() {
			message.Content += "\n(The user sends a picture of their " + p.of + ", which you can't see. Say so if they ask about it.)"
		}
		return message
	}
	parts := []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: message.Content}}
	for _, p := range pictures {
		parts = append(parts,
			openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: "(A picture of the user's " + p.of + ":)"},
			openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{
				URL: "data:" + http.DetectContentType(p.data) + ";base64," + base64.StdEncoding.EncodeToString(p.data),
			}})
	}
	message.Content, message.MultiContent = "", parts // the library accepts only one of the two
	return message
}

// still is a picture of a question.
type still struct {
	of   string // screen or camera
	data []byte
}

func (q *Question) pictures() []still {
	var list []still
	for _, p := range []still{{"screen", q.Screen}, {"camera", q.Camera}} {
		if p.data != nil {
			list = append(list, p)
		}
	}
	return list
}

// errPictures means that an endpoint may have refused a request for its pictures.
var errPictures = errors.New("the endpoint refuses pictures")

// refusedPictures reports whether pictures may be the reason of an error: a model that
// can't see has no status of its own, and some servers answer with 500.
func refusedPictures(err error) bool {
	switch status := endpoint.Status(err); status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	default:
		return status >= http.StatusBadRequest
	}
}

// shows reports whether a request has pictures.
func shows(request openai.ChatCompletionRequest) bool {
	return slices.ContainsFunc(request.Messages, func(m openai.ChatCompletionMessage) bool { return m.MultiContent != nil })
}

// configure replaces the service's model configuration with that of the intellect, where it
// is set.
func configure(request *openai.ChatCompletionRequest, m *store.ModelConfiguration) {
	if m == nil {
		return
	}
	if m.ModelID != "" {
		request.Model = m.ModelID
	}
	request.MaxCompletionTokens = int(m.MaxOutputTokens)
	if m.Temperature != nil {
		request.Temperature = max(float32(*m.Temperature), coldest)
	}
	request.ReasoningEffort = m.ThinkingLevel
}

// offered makes function definitions of the agent's tools, and one that loads skills.
func offered(q *Question) []openai.Tool {
	var list []openai.Tool
	offer := func(definition openai.FunctionDefinition) {
		list = append(list, openai.Tool{Type: openai.ToolTypeFunction, Function: &definition})
	}
	for _, tool := range q.Profile.Tools {
		// A tool with a schema that can't be read is offered without arguments.
		var parameters map[string]any
		if json.Unmarshal(tool.Parameters, &parameters) != nil || parameters == nil {
			parameters = map[string]any{"type": "object", "properties": map[string]any{}}
		}
		offer(openai.FunctionDefinition{Name: tool.Name, Description: tool.Description, Parameters: parameters})
	}
	if names := q.adhoc(); len(names) > 0 {
		offer(openai.FunctionDefinition{
			Name: loadSkill, Description: "Returns the instructions of a skill.",
			Parameters: map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string", "enum": names}}, "required": []string{"name"},
			},
		})
	}
	return list
}

// adhoc returns the names of the skills that the model can load; none when the agent has a
// tool with the name load_skill.
func (q *Question) adhoc() []string {
	if _, taken := q.Profile.Tool(loadSkill); taken {
		return nil
	}
	var names []string
	for _, skill := range q.skills() {
		if skill.Ref.Mode != store.SkillPreloaded {
			names = append(names, skill.Name)
		}
	}
	return names
}

// runTool runs a tool call of the model. Mistakes in the call are returned to the model,
// which can correct them.
func runTool(ctx context.Context, q *Question, name, arguments string, out Sink) (string, error) {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	var object map[string]any
	if json.Unmarshal([]byte(arguments), &object) != nil || object == nil {
		return `{"error":"the arguments are not a JSON object"}`, nil
	}
	tool, ok := q.Profile.Tool(name)
	if !ok && name == loadSkill {
		wanted, _ := object["name"].(string)
		if text, ok := q.load(wanted); ok {
			return text, nil
		}
		return `{"error":"there is no such skill"}`, nil
	}
	if !ok {
		return `{"error":"there is no such tool"}`, nil
	}
	args, err := json.Marshal(object) // compact: one line of a stream
	if err != nil {
		return "", err
	}
	results, err := out.Call(ctx, Call{Tool: tool, Args: args})
	if err != nil {
		return "", err
	}
	return string(results[0].Response), nil
}

// ReadObject reads the JSON object in a model's reply: models often surround it with words or a
// code block. It reports whether there is one.
func ReadObject(reply string, v any) bool {
	from, to := strings.IndexByte(reply, '{'), strings.LastIndexByte(reply, '}')
	return from >= 0 && to > from && json.Unmarshal([]byte(reply[from:to+1]), v) == nil
}

// Complete asks the model one question, outside any conversation, and returns its whole
// reply.
func (c *Chat) Complete(ctx context.Context, system, user string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, chatTimeout)
	defer cancel()
	reply, err := c.client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model: c.model,
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: system},
			{Role: openai.ChatMessageRoleUser, Content: user},
		},
	})
	if err != nil {
		return "", endpoint.WithoutBody(err)
	}
	if len(reply.Choices) == 0 {
		return "", errors.New("no choices")
	}
	return reply.Choices[0].Message.Content, nil
}
