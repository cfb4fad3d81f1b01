package brain

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

const (
	// maxRounds is how often a model may ask for tools in one turn.
	maxRounds = 8

	// chatTimeout bounds one reply of the model.
	chatTimeout = 2 * time.Minute

	// chatPassages is how many passages of the documents a prompt has.
	chatPassages = 4
)

// Chat asks an OpenAI-compatible chat endpoint. The client tools of the agent are
// offered to the model; their results are passed back to it.
type Chat struct {
	completions openai.ChatCompletionService
	http        *http.Client
	model       string
	knowledge   Searcher
	log         *slog.Logger
}

var _ Brain = (*Chat)(nil)

// NewChat returns a Chat. The endpoint needs a BaseURL and a Model; knowledge may be
// nil. Close must be called.
func NewChat(e endpoint.Endpoint, knowledge Searcher, log *slog.Logger) *Chat {
	client := endpoint.NewClient()
	return &Chat{
		completions: openai.NewChatCompletionService(e.Options(client)...), http: client,
		model: e.Model, knowledge: knowledge, log: log,
	}
}

// Close ends idle connections to the endpoint.
func (c *Chat) Close() { c.http.CloseIdleConnections() }

// Answer implements [Brain].
func (c *Chat) Answer(ctx context.Context, q *Question, out Sink) error {
	messages, err := c.messages(ctx, q)
	if err != nil {
		return err
	}
	params := openai.ChatCompletionNewParams{Model: c.model, Messages: messages, Tools: offered(q)}
	configure(&params, q.Profile.Model)
	for range maxRounds {
		reply, err := c.round(ctx, params, out)
		if err != nil {
			return err
		}
		if len(reply.ToolCalls) == 0 {
			return nil
		}
		params.Messages = append(params.Messages, reply.ToParam())
		for _, call := range reply.ToolCalls {
			result, err := runTool(ctx, q, call.Function.Name, call.Function.Arguments, out)
			if err != nil {
				return err
			}
			params.Messages = append(params.Messages, openai.ToolMessage(result, call.ID))
		}
	}
	return &Failure{"The model asked for tools again and again."}
}

// round streams one reply of the model: its text goes out as it comes, its tool
// calls are put together.
func (c *Chat) round(ctx context.Context, params openai.ChatCompletionNewParams, out Sink) (openai.ChatCompletionMessage, error) {
	roundCtx, cancel := context.WithTimeout(ctx, chatTimeout)
	defer cancel()
	stream := c.completions.NewStreaming(roundCtx, params)
	defer stream.Close()
	var whole openai.ChatCompletionAccumulator
	for stream.Next() {
		chunk := stream.Current()
		if !whole.AddChunk(chunk) {
			return openai.ChatCompletionMessage{}, c.failed(ctx, errors.New("chunks don't fit together"))
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		if err := out.Say(chunk.Choices[0].Delta.Content); err != nil {
			return openai.ChatCompletionMessage{}, err
		}
	}
	if err := stream.Err(); err != nil {
		return openai.ChatCompletionMessage{}, c.failed(ctx, err)
	}
	if len(whole.Choices) == 0 {
		return openai.ChatCompletionMessage{}, c.failed(ctx, errors.New("no choices"))
	}
	// A stream that breaks off in the middle looks like one that ended.
	if whole.Choices[0].FinishReason == "" {
		return openai.ChatCompletionMessage{}, c.failed(ctx, errors.New("the stream broke off"))
	}
	return whole.Choices[0].Message, nil
}

// failed logs the error; the user gets a general text.
func (c *Chat) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.log.Error("chat endpoint failed", "error", endpoint.WithoutBody(err))
	return &Failure{"The language model could not be reached."}
}

// messages is the conversation in the model's format.
func (c *Chat) messages(ctx context.Context, q *Question) ([]openai.ChatCompletionMessageParamUnion, error) {
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
	messages := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system)}
	for _, line := range q.History {
		switch {
		case line.System:
			messages = append(messages, openai.SystemMessage(line.Text))
		case line.Agent:
			messages = append(messages, openai.AssistantMessage(line.Text))
		default:
			messages = append(messages, openai.UserMessage(line.Text))
		}
	}
	text := q.Text
	if q.Trigger == TriggerUnheard {
		text = "(The user spoke, but no speech recogniser is configured, so there are no words. Say so.)"
	}
	if q.Image == nil {
		return append(messages, openai.UserMessage(text)), nil
	}
	picture := "data:" + http.DetectContentType(q.Image) + ";base64," + base64.StdEncoding.EncodeToString(q.Image)
	return append(messages, openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart(text),
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: picture}),
	})), nil
}

// configure lays the intellect's model configuration over the service's.
func configure(params *openai.ChatCompletionNewParams, m *store.ModelConfiguration) {
	if m == nil {
		return
	}
	if m.ModelID != "" {
		params.Model = m.ModelID
	}
	if m.MaxOutputTokens > 0 {
		params.MaxCompletionTokens = openai.Int(m.MaxOutputTokens)
	}
	if m.Temperature != nil {
		params.Temperature = openai.Float(*m.Temperature)
	}
	params.ReasoningEffort = shared.ReasoningEffort(m.ThinkingLevel)
}

// offered makes function definitions of the agent's tools, and one that loads skills.
func offered(q *Question) []openai.ChatCompletionToolUnionParam {
	var list []openai.ChatCompletionToolUnionParam
	for _, tool := range q.Profile.Tools {
		definition := shared.FunctionDefinitionParam{Name: tool.Name, Description: openai.String(tool.Description)}
		// A tool with a schema that can't be read is offered without arguments.
		if json.Unmarshal(tool.Parameters, &definition.Parameters) != nil {
			definition.Parameters = nil
		}
		list = append(list, openai.ChatCompletionFunctionTool(definition))
	}
	if names := q.adhoc(); len(names) > 0 {
		list = append(list, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: loadSkill, Description: openai.String("Returns the instructions of a skill."),
			Parameters: shared.FunctionParameters{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string", "enum": names}}, "required": []string{"name"},
			},
		}))
	}
	return list
}

// adhoc are the names of the skills that the model can load; none when a tool of the
// agent has the function's name.
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

// runTool runs a call of the model. Its mistakes are returned to the model, which can
// correct them.
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
