package main

import (
	"context"
	"errors"
	"time"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/bench/service"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/runtime/avatar"
)

// connectTimeout bounds the connect of one session.
const connectTimeout = time.Minute

// connect connects a session that receives picture and voice and discards them.
func connect(ctx context.Context, info localservice.Info) (*avatar.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	access, err := service.Access(ctx, info)
	if err != nil {
		return nil, err
	}
	o := avatar.OptionsFor(access)
	o.AllowPrivateHosts = true
	o.MicStart = avatar.MicDeferred
	o.Platform.OnTrack = func(track *webrtc.TrackRemote) {
		buffer := make([]byte, 1600)
		for {
			if _, _, err := track.Read(buffer); err != nil {
				return
			}
		}
	}
	session, err := avatar.New(o)
	if err != nil {
		return nil, err
	}
	if err := session.Connect(ctx); err != nil {
		session.Close()
		return nil, err
	}
	return session, nil
}

// talk starts the agent's endless answer.
func talk(ctx context.Context, session *avatar.Session) error {
	sent, err := session.Speak(ctx, "Tell me a story")
	if err == nil && !sent {
		err = errors.New("the text was not sent")
	}
	return err
}
