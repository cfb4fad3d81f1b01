//go:build !js

package converse_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/agentruntime/agentruntime/runtime/converse"
)

// A server that asks without a session: one turn read while it streams, and one as
// a whole, in the same thread. It is compiled and not run: the local service imports this
// package, and all of it would be compiled again for this test.
func ExampleClient() {
	ctx := context.Background()
	// From appInit, as a page has them from its server.
	client := converse.Client{URL: os.Getenv("GENIE_URL"), Token: os.Getenv("GENIE_TOKEN")}

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
}
