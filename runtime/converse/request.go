package converse

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// ModelFast is the only value of [Request].ModelType (wire-protocol §9.1).
const ModelFast = "fast"

// experiences are the values of [Request].ForceExperience (service.md, "Converse
// request").
var experiences = []string{"markdown", "summarization", "flashcards", "avatar_only"}

// Request is one turn in text (wire-protocol §9.1). Fields with their zero value
// are not sent, but for UserMessage and SSE.
type Request struct {
	// UserMessage is what the user says; not blank.
	UserMessage string `json:"userMessage"`
	// SSE asks for server-sent events; the default is NDJSON.
	SSE bool `json:"sse"`
	// ThreadID continues a thread; "" begins one.
	ThreadID string `json:"threadId,omitempty"`
	// ModelType is [ModelFast], or "" to leave it to the service.
	ModelType string `json:"model_type,omitempty"`
	// ForceExperience is a hint, not a promise: markdown, summarization, flashcards
	// or avatar_only.
	ForceExperience string `json:"force_experience,omitempty"`
	// RequestVars are the variables of the prompt: strings, numbers, booleans and
	// nil (wire-protocol §10.1). The service merges them into what the thread has.
	RequestVars map[string]any `json:"request_vars,omitempty"`
	// Capabilities override the agent's for this turn: on, off or disabled.
	Capabilities map[string]string `json:"capabilities,omitempty"`
}

// Check returns the error of a request that must not be sent: bad_request for a
// blank message or the state of a capability, unknown_capability for its name,
// validation_error for the model, the experience and the variables.
func (r Request) Check() error {
	switch {
	case strings.TrimSpace(r.UserMessage) == "":
		return fault.New(fault.BadRequest, "the message is empty")
	case r.ModelType != "" && r.ModelType != ModelFast:
		return fault.New(fault.ValidationError, "modelType must be "+ModelFast+", or left out")
	case r.ForceExperience != "" && !slices.Contains(experiences, r.ForceExperience):
		return fault.New(fault.ValidationError, "forceExperience must be one of "+strings.Join(experiences, ", "))
	}
	if _, err := CheckVars(r.RequestVars); err != nil {
		return err
	}
	_, err := MergeCapabilities(nil, r.Capabilities)
	return err
}
