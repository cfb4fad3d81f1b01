//go:build !js

package socketio

import (
	"context"
	"strings"
	"testing"
)

func TestACounterpartTakesThePlaceOfAServer(t *testing.T) {
	var sent []string
	client, err := NewClient("https://nowhere.invalid", ClientOptions{
		Auth: map[string]string{"token": "t"},
		Counterpart: func(_ context.Context, text string) []string {
			sent = append(sent, text)
			switch {
			case text == "":
				return []string{`0{"sid":"e","pingInterval":25000,"pingTimeout":20000}`}
			case strings.HasPrefix(text, "40"):
				return []string{`40{"sid":"s"}`}
			}
			return []string{`42["echo",1]`, "41"}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	client.Open()
	var got []string
	for ev := range client.Events() {
		switch ev.Kind {
		case Connected:
			if err := client.Emit("hello", 1); err != nil {
				t.Error(err)
			}
		case Message:
			got = append(got, ev.Name)
		case Disconnected:
			client.Close()
		}
	}
	if strings.Join(got, " ") != "echo" {
		t.Errorf("events %q", got)
	}
	if want := "|40{\"token\":\"t\"}|42[\"hello\",1]"; strings.Join(sent, "|") != want {
		t.Errorf("sent %q, want %q", sent, want)
	}
}
