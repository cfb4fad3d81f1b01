package media

import "testing"

func TestStats(t *testing.T) {
	for _, test := range []struct {
		name, report string
		want         Stats
	}{
		{"nothing", `[]`, Stats{}},
		{"no JSON", `{`, Stats{}},
		{"no rows", `{"a":1}`, Stats{}},
		{
			"downlink in Chromium", `[
			{"type":"transport","id":"T","selectedCandidatePairId":"P2"},
			{"type":"candidate-pair","id":"P1","nominated":true,"state":"succeeded","localCandidateId":"L1","currentRoundTripTime":0.5},
			{"type":"candidate-pair","id":"P2","localCandidateId":"L2","currentRoundTripTime":0.025},
			{"type":"local-candidate","id":"L1","candidateType":"host"},
			{"type":"local-candidate","id":"L2","candidateType":"relay"},
			{"type":"inbound-rtp","kind":"video","id":"V","bytesReceived":1000,"packetsReceived":10,"packetsLost":2,"jitter":0.004,"framesDecoded":7,"frameWidth":640,"frameHeight":360},
			{"type":"inbound-rtp","kind":"audio","id":"A","bytesReceived":300,"packetsReceived":5,"packetsLost":1,"jitter":0.009}]`,
			Stats{
				Known: true, HasVideo: true, VideoBytes: 1000, AudioBytes: 300, FramesDecoded: 7, RTTMs: 25, PacketsLost: 3, Packets: 15,
				JitterMs: 9, Path: "relay", Picture: Picture{Width: 640, Height: 360},
			},
		},
		{"voice alone", `[{"type":"inbound-rtp","kind":"audio","bytesReceived":1}]`, Stats{Known: true, AudioBytes: 1}},
		{
			"uplink", `[
			{"type":"outbound-rtp","kind":"audio","id":"O","bytesSent":500,"packetsSent":50},
			{"type":"remote-inbound-rtp","kind":"audio","id":"R","packetsLost":4,"jitter":0.002,"roundTripTime":0.03},
			{"type":"candidate-pair","id":"P","nominated":true,"state":"succeeded","localCandidateId":"gone"}]`,
			Stats{Known: true, AudioBytes: 500, Packets: 50, PacketsLost: 4, JitterMs: 2, RTTMs: 30},
		},
		{"wrong types", `[null,{"type":7},{"type":"inbound-rtp","kind":["video"],"bytesReceived":"many","packetsLost":-3,"packetsReceived":1e300,"frameWidth":null},
			{"type":"transport","selectedCandidatePairId":{}}]`, Stats{Known: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := parseStats([]byte(test.report)); got != test.want {
				t.Errorf("%+v\nwant %+v", got, test.want)
			}
		})
	}
}
