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
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

const (
	// maxRounds is how often a model may ask for tools in one turn.
	maxRounds = 8

	// chatTimeout bounds one answer of the model. It is longer than any answer
	// that somebody would listen to.
	chatTimeout = 2 * time.Minute

	// chatPassages is how many passages of the documents a model is shown.
	chatPassages = 4
)

// ChatConfig says where the model is. BaseURL and Model are required.
type ChatConfig struct {
	BaseURL   string // as in https://host/v1
	APIKey    string // "" for an endpoint without
	Model     string
	FastModel string       // for turns that prefer speed; "" means Model
	Knowledge Searcher     // nil is none
	Logger    *slog.Logger // nil discards
}

// Chat asks an OpenAI-compatible chat endpoint. The client tools of the agent are
// offered to the model; their answers are fed back to it.
type Chat struct {
	client openai.Client
	http   *http.Client
	config ChatConfig
	log    *slog.Logger
}

var _ Brain = (*Chat)(nil)

// NewChat returns a Chat. Close must be called when it is no longer needed.
func NewChat(c ChatConfig) *Chat {
	if c.FastModel == "" {
		c.FastModel = c.Model
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	return &Chat{
		http: client, config: c, log: c.Logger,
		// The key is always given, also an empty one: the library would send the
		// one from the environment to whatever endpoint was configured.
		client: openai.NewClient(
			option.WithBaseURL(c.BaseURL), option.WithAPIKey(c.APIKey),
			option.WithHTTPClient(client), option.WithMaxRetries(1),
		),
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
	params := openai.ChatCompletionNewParams{Model: c.config.Model, Messages: messages, Tools: offered(q.Profile.Tools)}
	if q.Fast {
		params.Model = c.config.FastModel
	}
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
			result, err := runTool(ctx, q.Profile, call.Function.Name, call.Function.Arguments, out)
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
	stream := c.client.Chat.Completions.NewStreaming(roundCtx, params)
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

// failed tells the log what happened, and the user only that it did.
func (c *Chat) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	status := 0
	var upstream *openai.Error
	if errors.As(err, &upstream) {
		// The whole error holds the request, and with it what the user said.
		status, err = upstream.StatusCode, errors.New(upstream.Message)
	}
	c.log.Error("chat endpoint failed", "status", status, "error", err)
	return &Failure{"The language model could not be reached."}
}

// messages is the conversation as the model sees it.
func (c *Chat) messages(ctx context.Context, q *Question) ([]openai.ChatCompletionMessageParamUnion, error) {
	system := Render(q.Profile.BaseDirective, q.Vars)
	switch {
	case q.Avatar, q.Experience == avatarOnly:
		system += "\nYour answer is spoken by an avatar: plain sentences, no lists, no Markdown."
	case q.Experience != "":
		system += "\nYour answer is read on a page and may use Markdown. Preferred form of the answer: " + q.Experience + "."
	default:
		system += "\nYour answer is read on a page and may use Markdown."
	}
	if c.config.Knowledge != nil && q.Capabilities.On(UseKnowledge) {
		passages, err := c.config.Knowledge.SearchKnowledge(ctx, q.Text, chatPassages)
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
		if line.Agent {
			messages = append(messages, openai.AssistantMessage(line.Text))
		} else {
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

// offered makes function definitions of the agent's client tools.
func offered(tools []store.ToolDef) []openai.ChatCompletionToolUnionParam {
	var list []openai.ChatCompletionToolUnionParam
	for _, tool := range tools {
		if tool.Type != store.ClientTool {
			continue
		}
		definition := shared.FunctionDefinitionParam{Name: tool.Name, Description: openai.String(tool.Description)}
		// A tool with a schema that can't be read is offered without arguments.
		if json.Unmarshal(tool.Parameters, &definition.Parameters) != nil {
			definition.Parameters = nil
		}
		list = append(list, openai.ChatCompletionFunctionTool(definition))
	}
	return list
}

// runTool runs what the model asked for. What the model got wrong is told to the
// model, which often does better the second time.
func runTool(ctx context.Context, profile store.Profile, name, arguments string, out Sink) (string, error) {
	tool, ok := profile.Tool(name)
	if !ok || tool.Type != store.ClientTool {
		return `{"error":"there is no such tool"}`, nil
	}
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	var object map[string]any
	if json.Unmarshal([]byte(arguments), &object) != nil || object == nil {
		return `{"error":"the arguments are not a JSON object"}`, nil
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
