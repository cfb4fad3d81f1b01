package brain

import (
	"context"
	"errors"

	"github.com/openai/openai-go/v3"

	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
)

// Complete asks the model one question, outside any conversation, and returns its whole
// reply.
func (c *Chat) Complete(ctx context.Context, system, user string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, chatTimeout)
	defer cancel()
	reply, err := c.completions.New(ctx, openai.ChatCompletionNewParams{
		Model:    c.model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system), openai.UserMessage(user)},
	})
	if err != nil {
		return "", endpoint.WithoutBody(err)
	}
	if len(reply.Choices) == 0 {
		return "", errors.New("no choices")
	}
	return reply.Choices[0].Message.Content, nil
}
