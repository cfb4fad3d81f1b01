package converse

import "testing"

// BenchmarkDecode reads one piece of an answer, as a service streams it.
func BenchmarkDecode(b *testing.B) {
	line := []byte(`{"role":"assistant","type":"avatar","content":"Two things changed since \"last\" week: ","segmentNumber":12,"et":1.25,` +
		`"speechId":"s-0123456789","threadId":"t-0123456789abcdef","messageId":"m-0123456789abcdef","segmentStart":false,"segmentEnd":false,"isFinal":false,` +
		`"executionId":"e-1","metadata":{"widgetName":"","runtimeName":"","subtype":"x"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Decode(line); !ok {
			b.Fatal("no segment")
		}
	}
}

// BenchmarkCollect puts an answer of 20,000 pieces together.
func BenchmarkCollect(b *testing.B) {
	line := []byte(`{"role":"assistant","type":"text","content":"word ","segmentNumber":12,"et":1.25,"threadId":"t-1","messageId":"m-1"}`)
	b.ReportAllocs()
	for b.Loop() {
		var c Collector
		for range 20_000 {
			s, _ := Decode(line)
			c.Add(s)
		}
		if len(c.Turn().Text) != 100_000 {
			b.Fatal("no text")
		}
	}
}
