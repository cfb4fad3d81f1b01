//go:build js && wasm

package page

import (
	"context"
	"iter"

	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// The arguments of the calls of js/src/visitor.ts.
type (
	byID struct {
		ID string `json:"id"`
	}
	titled struct {
		ID    string  `json:"id"`
		Title *string `json:"title"`
	}
	byIDs struct {
		IDs []string `json:"ids"`
	}
	analysis struct {
		ID     string         `json:"id"`
		Values map[string]any `json:"values"`
	}
	rating struct {
		MessageID string `json:"messageId"`
		Positive  *bool  `json:"positive"`
		Comment   string `json:"comment"`
	}
	nothing struct{}
)

// visitorMethods are the calls of one visitor beside a conversation (service.md
// "Threads", "Messages, feedback, followups" and "Converse and status").
func visitorMethods() Methods {
	return Methods{
		Later: map[string]Later{
			"threadList": visiting(func(ctx context.Context, c *visitor.Client, q visitor.ThreadQuery) (any, error) {
				return c.Threads(ctx, q)
			}),
			"threadGet": visiting(func(ctx context.Context, c *visitor.Client, a byID) (any, error) { return c.Thread(ctx, a.ID) }),
			"threadRename": visiting(func(ctx context.Context, c *visitor.Client, a titled) (any, error) {
				if a.Title == nil {
					return nil, missing("title")
				}
				return c.RenameThread(ctx, a.ID, *a.Title)
			}),
			"threadDelete": visiting(func(ctx context.Context, c *visitor.Client, a byIDs) (any, error) {
				return c.DeleteThreads(ctx, a.IDs...)
			}),
			"threadTranscript": visiting(func(ctx context.Context, c *visitor.Client, a byID) (any, error) {
				return c.Transcript(ctx, a.ID)
			}),
			"threadSetAnalysis": visiting(func(ctx context.Context, c *visitor.Client, a analysis) (any, error) {
				return c.SetAnalysis(ctx, a.ID, a.Values)
			}),
			"threadClearAnalysis": visiting(func(ctx context.Context, c *visitor.Client, a byID) (any, error) {
				return c.ClearAnalysis(ctx, a.ID)
			}),
			"messageList": visiting(func(ctx context.Context, c *visitor.Client, q visitor.MessageQuery) (any, error) {
				return c.Messages(ctx, q)
			}),
			"messageGet": visiting(func(ctx context.Context, c *visitor.Client, a byID) (any, error) { return c.Message(ctx, a.ID) }),
			"messageShare": visiting(func(ctx context.Context, c *visitor.Client, a titled) (any, error) {
				if a.Title == nil {
					return nil, missing("newTitle")
				}
				return c.ShareMessage(ctx, a.ID, *a.Title)
			}),
			"feedbackAdd": visiting(func(ctx context.Context, c *visitor.Client, a rating) (any, error) {
				if a.Positive == nil { // it must not be taken for a bad rating
					return nil, missing("positive")
				}
				return nil, c.AddFeedback(ctx, a.MessageID, *a.Positive, a.Comment)
			}),
			"followupsSuggested": visiting(func(ctx context.Context, c *visitor.Client, _ nothing) (any, error) {
				return c.Followups(ctx)
			}),
			"assistantStatus": visiting(func(ctx context.Context, c *visitor.Client, _ nothing) (any, error) { return c.Status(ctx) }),
		},
		Streams: map[string]Streaming{
			"threadAll": listing(func(ctx context.Context, c *visitor.Client, q visitor.ThreadQuery) iter.Seq2[visitor.Thread, error] {
				return c.AllThreads(ctx, q)
			}),
			"messageAll": listing(func(ctx context.Context, c *visitor.Client, q visitor.MessageQuery) iter.Seq2[visitor.Message, error] {
				return c.AllMessages(ctx, q)
			}),
		},
	}
}

// missing returns the error of a page that left an argument out.
func missing(name string) error { return fault.New(fault.BadRequest, name+" is missing") }
