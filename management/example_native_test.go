//go:build !js

package management_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/agentruntime/agentruntime/localservice"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// A server builds an agent, has a turn with it as one of its visitors, and removes the
// agent again.
func Example() {
	ctx := context.Background()
	service, err := localservice.Start(ctx, localservice.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()

	// A real account has a region instead of the addresses.
	info := service.Info()
	client, err := management.New(management.Options{
		PartnerID: info.PartnerID,
		Secret:    info.AdminSecret,
		Config:    info.Config,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	made, err := client.Provision(ctx, management.Brief{
		DisplayName:   "Mira",
		Directive:     "You are Mira. You help guests of a hotel.",
		OpeningPhrase: "Good morning!",
		AdminTags:     []string{"live"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for agent, err := range client.Agents.List(ctx, management.AgentFilter{SearchValue: "mira"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(agent.DisplayName, agent.AdminTags)
	}

	// One visitor's token: what a page may have.
	token, err := client.Tokens.Agent(ctx, management.TokenInput{AgentID: made.AgentID, UserID: "sam@example.com"})
	if err != nil {
		log.Fatal(err)
	}
	conversation := converse.Client{URL: *info.GenieURL, Token: token.KS()}
	turn, err := conversation.Turn(ctx, converse.Request{UserMessage: "My name is Sam"}, converse.Throw)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Text)
	fmt.Println(token) // without its text

	// The tag "live" protects the agent from an unintended delete.
	err = client.Agents.Delete(ctx, made.AgentID, management.ConfirmPermanent)
	fmt.Println(errors.Is(err, fault.ProtectedResource))
	err = client.Agents.Delete(ctx, made.AgentID, management.ConfirmPermanent, management.AllowProtected)
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Agents.Get(ctx, made.AgentID)
	fmt.Println(management.IsNotFound(err))

	// Output:
	// Mira [live]
	// Nice to meet you, Sam. I'll remember your name.
	// agent token [redacted]
	// true
	// true
}
