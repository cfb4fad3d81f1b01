package converse

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestARequestIsCheckedBeforeItIsSent(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Request
		want fault.Code // "" is fine
	}{
		{"the least", Request{UserMessage: "hi"}, ""},
		{"everything", Request{
			UserMessage: "hi", SSE: true, ThreadID: "t", ModelType: "fast", ForceExperience: "flashcards",
			RequestVars: map[string]any{"a": "b", "n": 1, "f": 1.5, "j": json.Number("2"), "t": true, "none": nil}, Capabilities: map[string]string{"show_link": "off"},
		}, ""},
		{"no text", Request{}, fault.BadRequest},
		{"blank text", Request{UserMessage: " \n\t\u00a0"}, fault.BadRequest},
		{"model", Request{UserMessage: "hi", ModelType: "FAST"}, fault.ValidationError},
		{"experience", Request{UserMessage: "hi", ForceExperience: "video"}, fault.ValidationError},
		{"reserved variable", Request{UserMessage: "hi", RequestVars: map[string]any{"sys__ks": "x"}}, fault.ValidationError},
		{"attribute of the user", Request{UserMessage: "hi", RequestVars: map[string]any{"sys__user_obj.email": "x"}}, fault.ValidationError},
		{"secret", Request{UserMessage: "hi", RequestVars: map[string]any{"secrets.KEY": "x"}}, fault.ValidationError},
		{"list", Request{UserMessage: "hi", RequestVars: map[string]any{"a": []any{}}}, fault.ValidationError},
		{"nested value", Request{UserMessage: "hi", RequestVars: map[string]any{"a": map[string]any{}}}, fault.ValidationError},
		{"no number", Request{UserMessage: "hi", RequestVars: map[string]any{"a": math.NaN()}}, fault.ValidationError},
		{"infinite", Request{UserMessage: "hi", RequestVars: map[string]any{"a": float32(math.Inf(1))}}, fault.ValidationError},
		{"text for a number", Request{UserMessage: "hi", RequestVars: map[string]any{"a": json.Number("null")}}, fault.ValidationError},
		{"unknown capability", Request{UserMessage: "hi", Capabilities: map[string]string{"fly": "on"}}, fault.UnknownCapability},
		{"state of a capability", Request{UserMessage: "hi", Capabilities: map[string]string{"avatar": "yes"}}, fault.BadRequest},
	} {
		err := c.r.Check()
		if c.want == "" && err != nil || c.want != "" && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, name := range experiences {
		expect.Equal(t, (Request{UserMessage: "hi", ForceExperience: name}).Check(), nil, "%s", name)
	}
}
