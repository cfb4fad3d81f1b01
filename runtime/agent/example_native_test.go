//go:build !js

package agent_test

import (
	"context"
	"fmt"
	"log"

	"github.com/agentruntime/agentruntime/localservice"
	"github.com/agentruntime/agentruntime/runtime/agent"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// A bot that begins in text and goes on with a face, in one conversation.
func ExampleSession() {
	ctx := context.Background()
	service, err := localservice.Start(ctx, localservice.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()

	// What a page does first: a token for one visitor, and where everything is.
	access, err := service.AppInit(ctx, "silent")
	if err != nil {
		log.Fatal(err)
	}

	spoken := make(chan string, 8)
	face := avatar.OptionsFor(access)
	face.AllowPrivateHosts = true      // the service is on this machine
	face.MicStart = avatar.MicDeferred // this bot types
	session, err := agent.New(agent.Options{
		Options: session.Options{
			Token:    access.KS,
			GenieURL: &access.GenieURL,
			OnEvent: func(e event.Event) {
				if s, ok := e.(event.AvatarStopTalking); ok && s.Text != avatar.SilentOpeningLabel {
					spoken <- s.Text
				}
			},
		},
		Mode:   agent.Chat,
		Avatar: face,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close() // tells the service that the conversation is over

	if err := session.Connect(ctx); err != nil {
		log.Fatal(err)
	}
	sent, err := session.SendText(ctx, "My name is Sam")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("in text:", sent.Turn.Text)

	if err := session.SwitchMode(ctx, agent.Avatar); err != nil {
		log.Fatal(err)
	}
	if _, err := session.SendText(ctx, "What is my name?"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("with a face:", <-spoken)

	// Output:
	// in text: Nice to meet you, Sam. I'll remember your name.
	// with a face: Your name is Sam.
}
