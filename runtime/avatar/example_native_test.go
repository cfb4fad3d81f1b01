//go:build !js

package avatar_test

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/localservice"
	"github.com/agentruntime/agentruntime/runtime/avatar"
)

// A bot that asks the agent something, hears the answer, and sees its face.
func ExampleSession() {
	ctx := context.Background()
	service, err := localservice.Start(ctx, localservice.Options{Script: script})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()

	// What a page does first: a token for one visitor, and where everything is.
	access, err := service.AppInit(ctx, "silent")
	if err != nil {
		log.Fatal(err)
	}

	var packets atomic.Int64
	o := avatar.OptionsFor(access)
	o.AllowPrivateHosts = true      // the service is on this machine
	o.MicStart = avatar.MicDeferred // this bot types
	o.Platform.OnTrack = func(track *webrtc.TrackRemote) {
		for {
			if _, _, err := track.ReadRTP(); err != nil {
				return
			}
			packets.Add(1)
		}
	}
	session, err := avatar.New(o)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close() // tells the service that the conversation is over

	if err := session.Connect(ctx); err != nil {
		log.Fatal(err)
	}
	answer, err := session.Ask(ctx, "What is the password?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	fmt.Println("saw and heard it:", packets.Load() > 0)

	// Output:
	// The password is swordfish.
	// saw and heard it: true
}

const script = `
rules:
  - when: {contains: password}
    steps:
      - say: The password is swordfish.
`
