//go:build !js

package visitor_test

import (
	"context"
	"fmt"
	"log"

	"github.com/agentruntime/agentruntime/localservice"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// A page's list of earlier conversations: each with its title and how it went,
// the last answer rated, and what is no longer wanted deleted.
func ExampleClient() {
	ctx := context.Background()
	genieURL, token, stop := conversations(ctx, "My name is Sam", "What can you do?")
	defer stop()

	client, err := visitor.New(visitor.Options{Token: token, Kind: appinit.AgentToken, GenieURL: &genieURL})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	var old []string
	for thread, err := range client.AllThreads(ctx, visitor.ThreadQuery{Filter: visitor.Filter{"orderBy": "+createdAt"}}) {
		if err != nil {
			log.Fatal(err)
		}
		transcript, err := client.Transcript(ctx, thread.ID)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s (%d turns)\n", thread.Title, len(transcript.Turns))
		old = append(old, thread.ID)
	}

	for message, err := range client.AllMessages(ctx, visitor.MessageQuery{ThreadID: old[0]}) {
		if err != nil {
			log.Fatal(err)
		}
		if message.Type == "ai" {
			fmt.Println(message.Text())
			if err := client.AddFeedback(ctx, message.ID, true, "It remembers names."); err != nil {
				log.Fatal(err)
			}
		}
	}

	deleted, err := client.DeleteThreads(ctx, old...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(deleted.TotalCount, "deleted")

	// Output:
	// My name is Sam (2 turns)
	// What can you do? (2 turns)
	// Nice to meet you, Sam. I'll remember your name.
	// 2 deleted
}

// conversations starts a local service on which a visitor has begun a thread
// with each of the texts. It returns where that is and the visitor's token.
func conversations(ctx context.Context, texts ...string) (genieURL, token string, stop func()) {
	service, err := localservice.Start(ctx, localservice.Options{})
	if err != nil {
		log.Fatal(err)
	}
	info := service.Info()
	// What the site's server does: a token for one visitor.
	server, err := management.New(management.Options{PartnerID: info.PartnerID, Secret: info.AdminSecret, Config: info.Config})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	made, err := server.Tokens.Agent(ctx, management.TokenInput{AgentID: info.Agents[0].AgentID, UserID: "sam@example.com"})
	if err != nil {
		log.Fatal(err)
	}
	conversation := converse.Client{URL: *info.GenieURL, Token: made.KS()}
	for _, text := range texts {
		if _, err := conversation.Turn(ctx, converse.Request{UserMessage: text}, converse.Throw); err != nil {
			log.Fatal(err)
		}
	}
	return *info.GenieURL, made.KS(), func() {
		if err := service.Close(); err != nil {
			log.Fatal(err)
		}
	}
}
