package media

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	client "github.com/agentruntime/agentruntime/runtime/media"
)

// opusPackets reads the packets of an Ogg file.
func opusPackets(t testing.TB, name string) (packets [][]byte) {
	t.Helper()
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	source, err := client.Ogg(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for {
		packet, err := source.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return packets
		}
		if err != nil {
			t.Fatal(err)
		}
		packets = append(packets, packet.Data)
	}
}
