//go:build !js

package converse_test

import (
	"context"
	"fmt"
	"log"

	"github.com/agentruntime/agentruntime/localservice"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// A server that asks without a session: one turn read while it streams, and one as
// a whole, in the same thread.
func ExampleClient() {
	ctx := context.Background()
	service, err := localservice.Start(ctx, localservice.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()

	// What a page gets from its server: a token for one visitor.
	access, err := service.AppInit(ctx, "receptionist")
	if err != nil {
		log.Fatal(err)
	}
	client := converse.Client{URL: access.GenieURL, Token: access.KS}

	// Leaving the loop would abort the turn.
	thread := ""
	for segment, err := range client.Stream(ctx, converse.Request{UserMessage: "My name is Sam"}) {
		if err != nil {
			log.Fatal(err)
		}
		if segment.ThreadID != "" {
			thread = segment.ThreadID
		}
		if segment.Type.Spoken() {
			fmt.Print(segment.ContentString())
		}
	}
	fmt.Println()

	turn, err := client.Turn(ctx, converse.Request{UserMessage: "What is my name?", ThreadID: thread}, converse.Throw)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Text)

	// Output:
	// Nice to meet you, Sam. I'll remember your name.
	// Your name is Sam.
}
