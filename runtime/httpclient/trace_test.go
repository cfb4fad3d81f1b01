package httpclient

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestTraceContexts(t *testing.T) {
	const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []TraceContext{{}, {Traceparent: valid}, {valid, "vendor=a1,other=b2"}, {valid, strings.Repeat("x", 512)}} {
		expect.Equal(t, c.Check(), nil, "%+v", c)
	}
	for _, c := range []TraceContext{
		{Traceparent: "trace"},
		{Tracestate: "a=b"},
		{Traceparent: strings.ToUpper(valid)},
		{Traceparent: valid + "-01"},
		{Traceparent: valid + "\n"},
		{Traceparent: "ff" + valid[2:]},
		{Traceparent: "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01"},
		{Traceparent: "00-0af7651916cd43dd8448eb211c80319c-" + strings.Repeat("0", 16) + "-01"},
		{valid, "a=b\r\nx: y"},
		{valid, "é"},
		{valid, strings.Repeat("x", 513)},
	} {
		expect.Error(t, c.Check(), fault.BadRequest, "%+v", c)
	}
}
