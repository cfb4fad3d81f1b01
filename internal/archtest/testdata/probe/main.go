// Command probe uses everything that a program for the page must not link, so that
// TestEveryRowOfTheTableCanFail can check that each row of the tables is reported.
package main

import (
	"bytes"
	"context"
	htmltemplate "html/template"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"text/template"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
	"github.com/coder/websocket"
	"github.com/pion/webrtc/v4"
)

func main() {
	name := os.Args[0]
	resp, err := http.Get(name)
	if err == nil {
		resp.Body.Close()
	}
	slog.Info(name)
	println(regexp.MustCompile(name).MatchString(name))
	reflect.ValueOf(&bytes.Buffer{}).MethodByName(name).Call(nil)
	_ = template.Must(template.New(name).Parse(name)).Execute(os.Stdout, nil)
	_ = htmltemplate.Must(htmltemplate.New(name).Parse(name)).Execute(os.Stdout, nil)
	pc, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	if err == nil {
		pc.OnICECandidate(func(*webrtc.ICECandidate) {})
	}
	if client, err := socketio.NewClient(name, socketio.ClientOptions{}); err == nil {
		client.Open()
	}
	if session, err := avatar.New(avatar.Options{Options: session.Options{Token: name}}); err == nil {
		session.Close()
	}
	media.New(media.Config{}).Close()
	println(len(signaling.FatalEvents()))
	if client, err := management.New(management.Options{Secret: name}); err == nil {
		client.Close()
	}
	if conn, _, err := websocket.Dial(context.Background(), name, nil); err == nil {
		conn.CloseNow()
	}
}
