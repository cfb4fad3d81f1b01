package media

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func TestAnAnswerPromisesAPicture(t *testing.T) {
	for answer, want := range map[string]bool{
		"v=0\r\nm=audio 9 UDP 0\r\na=sendonly\r\nm=video 9 UDP 96\r\na=sendonly\r\n": true,
		"v=0\nm=video 9 UDP 96\na=sendrecv\nm=audio 9 UDP 0\na=recvonly\n":           true,
		"v=0\r\nm=audio 9 UDP 0\r\na=sendonly\r\n":                                   false,
		"v=0\r\nm=video 0 UDP 96\r\na=sendonly\r\nm=audio 9 UDP 0\r\n":               false,
		"v=0\r\nm=video 9 UDP 96\r\na=inactive\r\nm=audio 9 UDP 0\r\na=sendonly\r\n": false,
		"v=0\r\ns=m=video 9 is no section\r\nm=audio 9 UDP 0\r\na=sendonly\r\n":      false,
	} {
		expect.Equal(t, sendsPicture(answer), want, "%q", answer)
	}
}
