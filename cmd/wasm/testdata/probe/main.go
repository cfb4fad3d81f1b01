// Command probe reaches everything that the runtime must not reach, so that the
// test of the test sees each row of its table reported.
package main

import (
	"bytes"
	htmltemplate "html/template"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"text/template"

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
}
