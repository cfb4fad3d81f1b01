//go:build !js

package socketio

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

var fuzzSeeds = []string{
	`0`, `0{"sid":"pX2"}`, `0/admin,{}`, `1`, `2["a",{"b":[1,2.5e3,null,true,"\u00e9"]}]`, `212["ask"]`, `30[]`,
	`4{"message":"no"}`, `51-["shot",{"_placeholder":true,"num":0}]`, `62-7[{"_placeholder":true,"num":1}]`,
	`2["connect"]`, `51000000000-["a"]`, `2[[[[[[`, "2[\"\xff\"]",
}

func FuzzDecodePacket(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add([]byte(seed), []byte("data"))
	}
	f.Fuzz(func(t *testing.T, text, data []byte) {
		p, err := decodePacket(text)
		if err != nil {
			if !errors.Is(err, errProtocol) {
				t.Fatalf("error of an unknown kind: %v", err)
			}
			return
		}
		if p.typ > typeConnectError || p.missing > maxAttachments || len(p.args) > maxArgs || len(p.namespace) > maxNamespace {
			t.Fatalf("beyond its bounds: %+v", p)
		}
		for p.missing > 0 {
			if err := p.attach(data); err != nil {
				return
			}
		}
		for i := range p.args {
			var v any
			if err := p.args.Decode(i, &v); err != nil && !strings.Contains(err.Error(), "cannot unmarshal number") {
				t.Fatalf("argument %d of an accepted packet: %v", i, err)
			}
		}
		// What was accepted survives another trip.
		encoded := p.encode()[0].data[1:]
		again, err := decodePacket(encoded)
		if err != nil {
			t.Fatalf("%s from %s: %v", encoded, text, err)
		}
		if again.typ != p.typ || again.id != p.id || again.name != p.name || again.namespace != p.namespace || len(again.args) != len(p.args) {
			t.Fatalf("%+v became %+v", p, again)
		}
	})
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte(`451-["a",{"_placeholder":true,"num":0}]`), []byte("x"), []byte(`2`))
	f.Add([]byte(`452-["a"]`), []byte("x"), []byte(`42["b"]`))
	f.Add([]byte(`0{"sid":"a","pingInterval":1,"pingTimeout":1}`), []byte(""), []byte(`41`))
	f.Fuzz(func(t *testing.T, first, attachment, last []byte) {
		var d decoder
		for _, m := range []message{{data: first}, {binary: true, data: attachment}, {data: last}} {
			in, err := d.decode(m)
			if err != nil {
				if !errors.Is(err, errProtocol) {
					t.Fatalf("error of an unknown kind: %v", err)
				}
				return
			}
			if in.engine == engineMessage && in.packet.missing != 0 {
				t.Fatal("a packet was passed on without its attachments")
			}
			if in.engine == engineOpen {
				if open, err := decodeOpen(in.data); err == nil && open.PingInterval+open.PingTimeout <= 0 {
					t.Fatalf("accepted a heartbeat of %+v", open)
				}
			}
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("event", "text", []byte{1, 2, 3}, int64(7), true)
	f.Add("", "\x00\u2028<&>", []byte{}, int64(-1), false)
	f.Add("\"_placeholder\"", "num", []byte(nil), int64(0), true)
	f.Fuzz(func(t *testing.T, name, text string, data []byte, id int64, nested bool) {
		values := []any{text, Binary(data)}
		if nested {
			values = []any{map[string]any{text: []any{Binary(data), text}}}
		}
		p, err := newEvent(name, values)
		if err != nil {
			return // a reserved name
		}
		p.id = noID
		if id >= 0 && id < 1e15 {
			p.id = id
		}
		var d decoder
		var got received
		for _, m := range p.encode() {
			if got, err = d.decode(m); err != nil {
				t.Fatalf("own message refused: %v", err)
			}
		}
		var wantName string // JSON replaces what is no UTF-8
		must.Do(t, json.Unmarshal(marshal(name), &wantName))
		if got.packet.id != p.id || got.packet.name != wantName {
			t.Fatalf("sent %+v, got %+v", p, got.packet)
		}
		if nested && data != nil {
			var back map[string][]json.RawMessage
			if err := got.packet.args.Decode(0, &back); err != nil || len(back) != 1 {
				t.Fatalf("decoded %v, %v", back, err)
			}
			for _, list := range back {
				if raw, _ := json.Marshal(data); !bytes.Equal(list[0], raw) {
					t.Fatalf("decoded %s, want %s", list[0], raw)
				}
			}
		}
		if !nested && data != nil {
			var back Binary
			if err := got.packet.args.Decode(1, &back); err != nil || !bytes.Equal(back, data) {
				t.Fatalf("decoded %v, %v; want %v", back, err, data)
			}
		}
	})
}
