//go:build !js

package av_test

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/localservice"
	"github.com/agentruntime/agentruntime/runtime/av"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
)

// A bot that asks its question with a sound, and gets the answer as sound.
func ExampleMicrophone() {
	ctx := context.Background()
	service, err := localservice.Start(ctx, localservice.Options{Script: script})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	access, err := service.AppInit(ctx, "silent")
	if err != nil {
		log.Fatal(err)
	}

	var mic av.Microphone
	var loudest atomic.Int32
	answers := make(chan string, 8)
	o := avatar.OptionsFor(access)
	o.AllowPrivateHosts = true // the service is on this machine
	o.Platform.OpenMicrophone = mic.Open
	o.Platform.OnTrack = func(track *webrtc.TrackRemote) {
		if track.Kind() != webrtc.RTPCodecTypeAudio {
			return // the picture; av.Frames reads it
		}
		for pcm, err := range av.Samples(track, 16000) {
			if err != nil {
				log.Print(err)
				return
			}
			for _, sample := range pcm {
				loudest.Store(max(loudest.Load(), int32(sample)))
			}
		}
	}
	o.OnEvent = func(e event.Event) {
		if spoken, ok := e.(event.AvatarStopTalking); ok && spoken.Text != avatar.SilentOpeningLabel {
			answers <- spoken.Text
		}
	}
	session, err := avatar.New(o)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if err := session.Connect(ctx); err != nil {
		log.Fatal(err)
	}

	question, err := av.FromFile("../../e2e/testdata/speech.wav") // or FromPCM, or FromReader
	if err != nil {
		log.Fatal(err)
	}
	if err := mic.Say(ctx, question); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-answers)
	fmt.Println("its sound arrived:", loudest.Load() > 3000)

	// Output:
	// The password is swordfish.
	// its sound arrived: true
}

// The local service takes the words of spoken turns from its script.
const script = `
hear: [What is the password?]
rules:
  - when: {contains: password}
    steps:
      - say: The password is swordfish.
`
