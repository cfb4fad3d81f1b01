package brain

import (
	"context"
	"errors"

	"github.com/sashabaranov/go-openai"

	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
)

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
