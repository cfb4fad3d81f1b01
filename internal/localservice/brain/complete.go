package brain

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
)

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
