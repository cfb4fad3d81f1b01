package media

import (
	"bytes"
	"os"
	"testing"
)

// opusPackets reads the packets of an Ogg file (RFC 3533) without its two headers.
func opusPackets(t testing.TB, name string) [][]byte {
	t.Helper()
	const headerSize, segmentsAt = 27, 26
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var packets [][]byte
	var packet []byte
	for len(file) > 0 {
		if !bytes.HasPrefix(file, []byte("OggS")) {
			t.Fatalf("%s: no page", name)
		}
		lacing := file[headerSize : headerSize+int(file[segmentsAt])]
		file = file[headerSize+len(lacing):]
		for _, size := range lacing {
			packet = append(packet, file[:size]...)
			file = file[size:]
			if size < 255 {
				packets = append(packets, packet)
				packet = nil
			}
		}
	}
	return packets[2:]
}
