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
			{"type":"inbound-rtp","kind":"video","id":"V","bytesReceived":1000,"packetsReceived":10,"packetsLost":2,"jitter":0.004,"framesDecoded":7,"framesDropped":2,"freezeCount":1,"totalFreezesDuration":0.4,"frameWidth":640,"frameHeight":360},
			{"type":"inbound-rtp","kind":"audio","id":"A","bytesReceived":300,"packetsReceived":5,"packetsLost":1,"jitter":0.009}]`,
			Stats{
				Known: true, HasVideo: true, CurrentRoundTripTime: 0.025, CandidateType: "relay",
				Video: VideoStats{
					InboundStats:  InboundStats{BytesReceived: 1000, PacketsReceived: 10, PacketsLost: 2, Jitter: 0.004},
					FramesDecoded: 7, FramesDropped: 2, FreezeCount: 1, TotalFreezesDuration: 0.4, FrameWidth: 640, FrameHeight: 360,
				},
				Audio: InboundStats{BytesReceived: 300, PacketsReceived: 5, PacketsLost: 1, Jitter: 0.009},
			},
		},
		{"voice alone", `[{"type":"inbound-rtp","kind":"audio","bytesReceived":1}]`, Stats{Known: true, Audio: InboundStats{BytesReceived: 1}}},
		{
			"uplink", `[
			{"type":"outbound-rtp","kind":"audio","id":"O","bytesSent":500,"packetsSent":50},
			{"type":"remote-inbound-rtp","kind":"audio","id":"R","packetsLost":4,"jitter":0.002,"roundTripTime":0.03},
			{"type":"candidate-pair","id":"P","nominated":true,"state":"succeeded","localCandidateId":"gone"}]`,
			Stats{
				Known: true, CurrentRoundTripTime: 0.03,
				Microphone: MicrophoneStats{BytesSent: 500, PacketsSent: 50, PacketsLost: 4, Jitter: 0.002, RoundTripTime: 0.03},
			},
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
