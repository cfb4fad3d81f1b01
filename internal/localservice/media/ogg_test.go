package media

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
	client "github.com/agentruntime/agentruntime/runtime/media"
)

// opusPackets reads the packets of an Ogg file.
func opusPackets(t testing.TB, name string) (packets [][]byte) {
	t.Helper()
	file := must.Get(os.ReadFile(name))(t)
	source := must.Get(client.Ogg(bytes.NewReader(file)))(t)
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
