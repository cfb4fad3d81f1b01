package management

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Tools are what a model can call; intellects refer to them by id (service.md, "Tools").
// All calls need an admin token.
type Tools struct{ Records[Tool, string] }

// Tool is a tool's record.
type Tool struct {
	ID string `json:"id"`
	// Name is unique within the account.
	Name      string     `json:"name"`
	Config    ToolConfig `json:"config"`
	CreatedAt Time       `json:"created_at,omitempty"`
	UpdatedAt Time       `json:"updated_at,omitempty"`
	Receipt
}

// ToolPatch describes a change of a tool; nil fields stay as they are.
type ToolPatch struct {
	Name *string `json:"name,omitempty"`
	// Config replaces the whole configuration.
	Config *ToolConfig `json:"config,omitempty"`
}

var tools = collection[Tool, string]{
	at: appinit.Genie, path: "/v1/tool", create: "add", what: "a tool", all: query{Filter: typed{"ToolListFilter"}},
	inUse: fault.ToolInUse, names: func(i *Intellect, id string) bool {
		return slices.Contains(i.ToolIDs, id) || slices.Contains(i.ThreadStartTools, id)
	},
}

// typed is the type of a filter. Some filters have nothing else (service.md, "Tools",
// "Skills").
type typed struct {
	ObjectType string `json:"objectType"`
}

// Add makes a tool. Errors are those of [ValidateTool], and the service's conflict for
// a name that is in use.
func (t Tools) Add(ctx context.Context, name string, config ToolConfig, opts ...Option) (*Tool, error) {
	if err := ValidateTool(name, config); err != nil {
		return nil, err
	}
	return t.add(ctx, map[string]any{"name": name, "config": config.wire(name)}, opts)
}

// Update changes a tool and returns it. Errors are those of Add and Get, and bad_request
// for an empty patch.
func (t Tools) Update(ctx context.Context, id string, p ToolPatch) (*Tool, error) {
	var errs []error
	body := map[string]any{}
	name := ""
	if p.Name != nil {
		name = *p.Name
		body["name"] = name
		errs = append(errs, checkToolName(name))
	}
	if p.Config != nil {
		errs = append(errs, p.Config.check())
		body["config"] = p.Config.wire(name)
	}
	return t.update(ctx, id, body, errs...)
}

// Referencing returns the intellects that refer to the tool, also as a thread-start tool.
// It reads all intellects.
func (t Tools) Referencing(ctx context.Context, id string) ([]*Intellect, error) {
	return t.referencing(ctx, id)
}

// inUse is the error for deleting an object that intellects refer to.
func inUse(code fault.Code, what string, by []*Intellect) error {
	names, ids := make([]string, len(by)), make([]any, len(by))
	for n, i := range by {
		ids[n] = float64(i.ID) // the body of an error consists of JSON types
		names[n] = fmt.Sprint(i.ID)
		if i.Name != "" {
			names[n] += " (" + i.Name + ")"
		}
	}
	return fault.New(code, what+" is still named by the intellects "+strings.Join(names, ", ")+
		"; take it out of them, or pass Force").WithBody(map[string]any{"intellects": ids})
}
