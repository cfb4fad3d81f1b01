//go:build !js

package chat_test

import (
	"context"
	"fmt"
	"log"

	"github.com/agentruntime/agentruntime/localservice"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// A bot that asks, reads an answer while it streams, and lets the agent use a tool.
func ExampleSession() {
	ctx := context.Background()
	service, err := localservice.Start(ctx, localservice.Options{Script: script})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()

	// What a page gets from its server: a token for one visitor.
	access, err := service.AppInit(ctx, "tools")
	if err != nil {
		log.Fatal(err)
	}

	session, err := chat.New(chat.Options{
		Options: session.Options{
			Token:    access.KS,
			GenieURL: &access.GenieURL,
			OnEvent: func(e event.Event) {
				if w, ok := e.(event.Warning); ok {
					fmt.Println("warning:", w.Message)
				}
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close() // tells the service that the conversation is over

	// A tool of the agent that runs here, and for whose result the agent waits.
	_, err = session.OnToolCall("save_note", func(ctx context.Context, call event.ToolCall) (any, error) {
		fmt.Printf("saved: %s\n", call.Args)
		return session.RespondToTool(ctx, call.ToolMetadata.ID, map[string]any{"status": "saved"})
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := session.Connect(context.Background()); err != nil {
		log.Fatal(err)
	}

	// One turn, awaited.
	turn, err := session.SendText(ctx, "My name is Sam", chat.TurnOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Text)

	// One turn, read while it streams. Leaving the loop would abort it.
	for segment, err := range session.Stream(ctx, "Please take a note", chat.TurnOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		if segment.Type.Spoken() {
			fmt.Print(segment.ContentString())
		}
	}
	fmt.Println()

	// Output:
	// Nice to meet you, Sam. I'll remember your name.
	// saved: {"note":"call back"}
	// I wrote that down: saved.
}

const script = `
rules:
  - when: {contains: note}
    steps:
      - tool: {name: save_note, args: {note: call back}, wait: true}
      - say: "I wrote that down: {{ tool.status }}."
`
