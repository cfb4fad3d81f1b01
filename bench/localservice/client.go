package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/control"
)

// patience bounds every step of a client.
const patience = time.Minute

// agent is the one to talk to: it says nothing first.
const agent = "silent"

// client is one session: a socket and a viewer.
type client struct {
	socket *socketio.Client
	peer   *webrtc.PeerConnection
}

// connect takes a page's way from a widget to a picture.
func connect(ctx context.Context, info localservice.Info) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a, _ := info.Agent(agent)
	var widget struct{ KS string }
	form := url.Values{"widgetId": {a.WidgetID}, "format": {"1"}}.Encode()
	if err := post(ctx, info.OVPURL+"/service/session/action/startWidgetSession", "", "application/x-www-form-urlencoded", form, &widget); err != nil {
		return nil, err
	}
	var init struct {
		KS              string
		TURNCredentials struct{ Username, Credential string }
	}
	if err := post(ctx, info.AgenticURL+"/application/appInit", widget.KS, "application/json", "{}", &init); err != nil {
		return nil, err
	}
	socket, err := socketio.NewClient(info.ConversationManagerURL, socketio.ClientOptions{
		Auth: map[string]string{"token": init.KS}, NoReconnect: true,
	})
	if err != nil {
		return nil, err
	}
	c := &client{socket: socket}
	socket.Open()
	address, err := c.handshake(ctx, init.KS)
	if err == nil {
		err = c.watch(ctx, address, webrtc.ICEServer{
			URLs: []string{info.TURNServerURL + "?transport=udp"}, Username: init.TURNCredentials.Username,
			Credential: init.TURNCredentials.Credential,
		})
	}
	if err == nil {
		err = socket.Emit(control.ApprovedPermissions, control.Approval{})
	}
	if err == nil {
		_, err = c.await(ctx, control.StvFinishedTalking)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	go func() {
		for range socket.Events() { // captions and the rest: read, as a page would
		}
	}()
	return c, nil
}

// handshake returns the address of the picture.
func (c *client) handshake(ctx context.Context, ks string) (string, error) {
	if _, err := c.await(ctx, control.ServerConnected); err != nil {
		return "", err
	}
	if err := c.socket.Emit(control.Join, control.NewJoin("bench", "bench", control.Context{KS: ks})); err != nil {
		return "", err
	}
	if _, err := c.await(ctx, control.JoinComplete); err != nil {
		return "", err
	}
	if err := c.socket.Emit(control.StvNewSession, control.RoomRequest{RoomID: "bench"}); err != nil {
		return "", err
	}
	args, err := c.await(ctx, control.StvNewSession)
	if err != nil {
		return "", err
	}
	var reply control.StvNewSessionReply
	err = args.Decode(0, &reply)
	return reply.WebRTCURL, err
}

// await reads events up to the one of that name.
func (c *client) await(ctx context.Context, name string) (socketio.Args, error) {
	for {
		select {
		case e, ok := <-c.socket.Events():
			switch {
			case !ok:
				return socketio.Args{}, errors.New("the socket has ended")
			case e.Err != nil:
				return socketio.Args{}, e.Err
			case e.Name == name:
				return e.Args, nil
			}
		case <-ctx.Done():
			return socketio.Args{}, fmt.Errorf("wait for %s: %w", name, ctx.Err())
		}
	}
}

// watch subscribes to the picture through the relay, and throws away what comes.
func (c *client) watch(ctx context.Context, address string, relay webrtc.ICEServer) error {
	var err error
	c.peer, err = webrtc.NewPeerConnection(webrtc.Configuration{
		ICETransportPolicy: webrtc.ICETransportPolicyRelay, ICEServers: []webrtc.ICEServer{relay},
	})
	if err != nil {
		return err
	}
	frames := make(chan struct{}, 1)
	c.peer.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		buffer := make([]byte, 1600)
		for {
			if _, _, err := track.Read(buffer); err != nil {
				return
			}
			select {
			case frames <- struct{}{}:
			default:
			}
		}
	})
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeVideo, webrtc.RTPCodecTypeAudio} {
		if _, err := c.peer.AddTransceiverFromKind(kind, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}); err != nil {
			return err
		}
	}
	offer, err := c.peer.CreateOffer(nil)
	if err != nil {
		return err
	}
	gathered := webrtc.GatheringCompletePromise(c.peer)
	if err := c.peer.SetLocalDescription(offer); err != nil {
		return err
	}
	<-gathered
	answer, err := send(ctx, address, "", "application/sdp", c.peer.LocalDescription().SDP)
	if err != nil {
		return err
	}
	if err := c.peer.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: string(answer)}); err != nil {
		return err
	}
	select {
	case <-frames:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a picture: %w", ctx.Err())
	}
}

// talk lets the agent begin.
func (c *client) talk() error {
	return c.socket.Emit(control.TextEntered, control.Text{Text: "Tell me a story", IsFinal: true})
}

func (c *client) close() {
	if c.peer != nil {
		_ = c.peer.Close() // the measurement is over
	}
	_ = c.socket.Close()
}

func post(ctx context.Context, address, token, kind, body string, out any) error {
	reply, err := send(ctx, address, token, kind, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(reply, out)
}

func send(ctx context.Context, address, token, kind, body string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", kind)
	if token != "" {
		r.Header.Set("Authorization", "KS "+token)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", r.URL.Path, reply.Status)
	}
	return text, err
}
